/** Length of the prefix of a form that the automaton finds; the rest is compared. */
const PREFIX = 8;

/** A prefix that ends in a state, and the forms that begin with it. */
interface Ending {
  readonly length: number;
  readonly forms: readonly Buffer[];
}

interface Node {
  readonly next: Map<number, Node>;
  readonly depth: number;
  /** Forms whose prefix ends here. */
  readonly forms: Buffer[];
  /** The longest proper suffix that is a prefix as well. */
  back: Node | undefined;
  state: number;
}

const newNode = (depth: number): Node => ({
  next: new Map(),
  depth,
  forms: [],
  back: undefined,
  state: 0,
});

/**
 * Finds the prefixes of many forms in one pass (Aho and Corasick, 1975). A state is the place of
 * its row in `table`, whose columns are classes of bytes.
 */
export interface PrefixAutomaton {
  readonly classes: Uint8Array;
  readonly table: Uint32Array;
  readonly start: number;
  /** States from this one on end a prefix. */
  readonly firstEnding: number;
  endingsOf(state: number): readonly Ending[];
  /** Returns the length of the longest prefix that is in progress. */
  depthOf(state: number): number;
}

function trieOf(forms: readonly Buffer[]): Node {
  const root = newNode(0);
  for (const form of forms) {
    let node = root;
    for (const byte of form.subarray(0, PREFIX)) {
      const next = node.next.get(byte) ?? newNode(node.depth + 1);
      node.next.set(byte, next);
      node = next;
    }
    node.forms.push(form);
  }
  return root;
}

/** Sets the links of all nodes, and returns the nodes by depth. */
function linked(root: Node): Node[] {
  const nodes = [root];
  // The list grows while it is read.
  for (const node of nodes) {
    for (const [byte, child] of node.next) {
      let back = node.back;
      while (back !== undefined && !back.next.has(byte)) back = back.back;
      child.back = back?.next.get(byte) ?? root;
      nodes.push(child);
    }
  }
  return nodes;
}

function endingsOf(node: Node): Ending[] {
  const endings: Ending[] = [];
  for (let each: Node | undefined = node; each !== undefined; each = each.back)
    if (each.forms.length > 0) endings.push({ length: each.depth, forms: each.forms });
  return endings;
}

/** Returns the class of each byte: 0 for those that no prefix has. */
function classesOf(nodes: readonly Node[]): { classes: Uint8Array; count: number } {
  const bytes = [...new Set(nodes.flatMap(({ next }) => [...next.keys()]))];
  const classes = new Uint8Array(256);
  // With all 256 bytes, no class is left for other ones.
  const first = bytes.length === 256 ? 0 : 1;
  for (const [index, byte] of bytes.entries()) classes[byte] = index + first;
  return { classes, count: bytes.length + first };
}

export function prefixAutomaton(forms: readonly Buffer[]): PrefixAutomaton {
  const root = trieOf(forms);
  const nodes = linked(root);
  const endings = new Map(nodes.map((node) => [node, endingsOf(node)]));
  const isEnding = (node: Node): boolean => (endings.get(node)?.length ?? 0) > 0;
  const { classes, count } = classesOf(nodes);
  const ordered = [...nodes.filter((node) => !isEnding(node)), ...nodes.filter(isEnding)];
  for (const [row, node] of ordered.entries()) node.state = row * count;
  const table = new Uint32Array(nodes.length * count);
  // The row of a shorter prefix is complete before it is copied.
  for (const node of nodes) {
    if (node.back !== undefined)
      table.copyWithin(node.state, node.back.state, node.back.state + count);
    else table.fill(root.state, node.state, node.state + count);
    for (const [byte, child] of node.next) table[node.state + (classes[byte] ?? 0)] = child.state;
  }
  const ofRow = (state: number): Node | undefined => ordered[state / count];
  return {
    classes,
    table,
    start: root.state,
    firstEnding: ordered.filter((node) => !isEnding(node)).length * count,
    endingsOf: (state) => {
      const node = ofRow(state);
      return node === undefined ? [] : (endings.get(node) ?? []);
    },
    depthOf: (state) => ofRow(state)?.depth ?? 0,
  };
}
