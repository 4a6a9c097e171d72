// Command health prints the health of Kubernetes objects as GitOps tools compute it, and runs actions of Argo CD.
//
// It reads one JSON object a line from standard input, and prints one line for each: the status of kstatus, which Flux uses, and the result of
// the Lua script that is its argument, run with the libraries that Argo CD gives a script of argocd-cm. Without an argument, each line has an
// object and a script of an action, and the program prints the table that the script returns.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

type result struct {
	Kstatus health `json:"kstatus"`
	Argo    health `json:"argo"`
}

// Argo CD gives a script one second.
const limit = time.Second

func main() {
	log.SetFlags(0)
	evaluateLine := runAction
	if len(os.Args) == 2 {
		script, err := os.ReadFile(os.Args[1])
		if err != nil {
			log.Fatal(err)
		}
		evaluateLine = func(line []byte) ([]byte, error) { return evaluate(line, string(script)) }
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line, err := evaluateLine(lines.Bytes())
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(line))
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

func evaluate(line []byte, script string) ([]byte, error) {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(line); err != nil {
		return nil, err
	}
	computed, err := status.Compute(object)
	if err != nil {
		return nil, err
	}
	table, err := runScript(object, script)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
	}
	argo := health{table.RawGetString("status").String(), lua.LVAsString(table.RawGetString("message"))}
	return json.Marshal(result{health{string(computed.Status), computed.Message}, argo})
}

// runAction returns the table that the script of a line returns for its object.
func runAction(line []byte) ([]byte, error) {
	var action struct {
		Object map[string]any `json:"object"`
		Script string         `json:"script"`
	}
	if err := json.Unmarshal(line, &action); err != nil {
		return nil, err
	}
	table, err := runScript(&unstructured.Unstructured{Object: action.Object}, action.Script)
	if err != nil {
		return nil, err
	}
	return json.Marshal(fromLua(table))
}

// runScript returns the table that the script returns for the global `obj`.
func runScript(object *unstructured.Unstructured, script string) (*lua.LTable, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			return nil, err
		}
	}
	limitOs(state)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	state.SetContext(ctx)
	state.SetGlobal("obj", toLua(state, object.Object))
	if err := state.DoString(script); err != nil {
		return nil, err
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return nil, fmt.Errorf("expected a table, got %s", state.Get(-1).Type())
	}
	return table, nil
}

// limitOs keeps `date` and `time` of the library os: Argo CD offers no more of it.
func limitOs(state *lua.LState) {
	lua.OpenOs(state)
	all := state.GetGlobal(lua.OsLibName).(*lua.LTable)
	safe := state.NewTable()
	for _, name := range []string{"date", "time"} {
		safe.RawSetString(name, all.RawGetString(name))
	}
	state.SetGlobal(lua.OsLibName, safe)
}

func fromLua(value lua.LValue) any {
	switch value := value.(type) {
	case lua.LBool:
		return bool(value)
	case lua.LNumber:
		return float64(value)
	case lua.LString:
		return string(value)
	case *lua.LTable:
		if value.Len() > 0 {
			list := []any{}
			value.ForEach(func(_, item lua.LValue) { list = append(list, fromLua(item)) })
			return list
		}
		object := map[string]any{}
		value.ForEach(func(name, item lua.LValue) { object[name.String()] = fromLua(item) })
		return object
	}
	return nil
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case string:
		return lua.LString(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	case []any:
		list := state.CreateTable(len(value), 0)
		for _, item := range value {
			list.Append(toLua(state, item))
		}
		return list
	case map[string]any:
		table := state.CreateTable(0, len(value))
		for key, item := range value {
			table.RawSetString(key, toLua(state, item))
		}
		return table
	}
	return lua.LNil
}
