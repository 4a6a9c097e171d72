// Command argo-diff prints what Argo CD considers out of sync.
//
// It reads one line of JSON from standard input for each object: {"config": MANIFEST, "live": OBJECT}, and prints one line for each: the ways
// of Argo CD to compare them, each with whether the object is modified and what it would become. KUBECONFIG names the cluster of the objects.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/diff"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/tracing"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
)

// The field manager of Argo CD.
const manager = "argocd-controller"

type line struct {
	Config map[string]any `json:"config"`
	Live   map[string]any `json:"live"`
}

type result struct {
	Modified  bool            `json:"modified"`
	Live      json.RawMessage `json:"live"`
	Predicted json.RawMessage `json:"predicted"`
}

func main() {
	log.SetFlags(0)
	ways, cleanup, err := waysOfArgo()
	if err != nil {
		log.Fatal(err)
	}
	defer cleanup()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		printed, err := compare(lines.Bytes(), ways)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(printed))
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

// waysOfArgo returns the options of each comparison that an Application can choose.
func waysOfArgo() (map[string][]diff.Option, func(), error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, nil, err
	}
	kubectl := &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}
	_, parser, err := kubectl.LoadOpenAPISchema(config)
	if err != nil {
		return nil, nil, err
	}
	applier, cleanup, err := kubectl.ManageServerSideDiffDryRuns(config)
	if err != nil {
		return nil, nil, err
	}
	common := []diff.Option{diff.WithManager(manager), diff.WithGVKParser(parser)}
	return map[string][]diff.Option{
		"threeWay":   common,
		"structured": append(common[:2:2], diff.WithStructuredMergeDiff(true)),
		"serverSide": append(common[:2:2], diff.WithServerSideDiff(true), diff.WithIgnoreMutationWebhook(true),
			diff.WithServerSideDryRunner(diff.NewK8sServerSideDryRunner(applier))),
	}, cleanup, nil
}

func compare(text []byte, ways map[string][]diff.Option) ([]byte, error) {
	var pair line
	if err := json.Unmarshal(text, &pair); err != nil {
		return nil, err
	}
	results := map[string]result{}
	for name, options := range ways {
		config := &unstructured.Unstructured{Object: pair.Config}
		live := &unstructured.Unstructured{Object: pair.Live}
		found, err := diff.Diff(config.DeepCopy(), live.DeepCopy(), options...)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %s: %w", config.GetKind(), config.GetName(), name, err)
		}
		results[name] = result{found.Modified, found.NormalizedLive, found.PredictedLive}
	}
	return json.Marshal(results)
}
