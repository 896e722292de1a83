"""A traced step as a graph for the partitioner."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ..capture_common import CaptureError, Costing, Report
from ..capture_common.samples import samples_of
from ..costs import TensorSpec
from ..graph import Graph, GraphBuilder, Kind
from .costs import VIEWS, Costs
from .gradients import gradients
from .program import Op, Program, Value, program_of
from .state import Traced

# Element by element: a compiler reads a broadcast operand in place, and may write the result over an operand.
ELEMENTWISE = frozenset("""
    add sub mul div rem max min pow integer_pow neg sign abs exp exp2 expm1 log log1p sqrt rsqrt cbrt square tanh logistic sin cos tan erf erfc
    erf_inv and or not xor eq ne lt le gt ge select_n clamp convert_element_type add_any floor ceil round is_finite nextafter atan2
    reduce_precision""".split())
_WRITES_IN_PLACE = ELEMENTWISE | {"dynamic_update_slice", "scatter", "scatter-add", "scatter_add"}


@dataclass
class Options:
    """``unroll``: scans of at most so many iterations are unrolled. ``iterations``: of while loops. ``samples``: of one step, if told."""

    unroll: int = 0
    iterations: int = 1
    samples: int | None = None
    name: str = "step"


def convert(step: Traced, costing: Costing, options: Options) -> tuple[Graph, Report]:
    """The graph of one step whose state is donated: each leaf is a residual, and its new value is written over it.

    The operation that makes a leaf's new value is itself the reference node that writes it where it goes element by element, over rows or a
    slice, and the program reads the old value nowhere behind it; else a node ``update/LEAF`` follows it, which copies. All readers of the
    old value come before, by edges without bytes. O(operations + values).
    """
    report = Report()
    program = program_of(step.closed, options.unroll, report)
    try:
        return _Conversion(step, program, costing, options, report).build(), report
    except CaptureError:
        raise
    except ValueError as error:  # a cycle, a size beyond 63 bits
        raise CaptureError(str(error)) from error


class _Conversion:
    def __init__(self, step: Traced, program: Program, costing: Costing, options: Options, report: Report) -> None:
        self.step, self.program, self.options, self.report = step, program, options, report
        self.costs = Costs(costing, options.iterations, report)
        self.costing = costing
        self.builder = GraphBuilder(options.name, "pardnn.capture_jax")
        self.builder.samples_per_step = samples_of(options.samples, step.samples, report)
        self.node: dict[int, int] = {}
        self.place = {argument: place for place, argument in enumerate(program.arguments)}
        self.readers = self._readers()
        self.needed = self._needed()
        self.broadcasts = self._broadcasts_in_place()
        self.writers = self._writers()

    def build(self) -> Graph:
        for i, op in enumerate(self.program.ops):
            if self.needed[i]:
                self.node[i] = self._add_node(i, op)
        for i, op in enumerate(self.program.ops):
            if self.needed[i]:
                for value in op.inputs:
                    if value is not None:
                        self.builder.edge(self.node[value.op], self.node[i], self._spec(value).unique_bytes, value.output)
        self._add_updates()
        self._mark_gradients()
        dropped = sum(not n for n, op in zip(self.needed, self.program.ops) if op.primitive not in ("argument", "constant"))
        self.report.count("operations dropped that no result needs", times=dropped)
        return self.builder.build()

    # What is used, and how

    def _readers(self) -> list[list[int]]:
        """The operations that read each operation's outputs."""
        readers: list[list[int]] = [[] for _ in self.program.ops]
        for i, op in enumerate(self.program.ops):
            for value in op.inputs:
                if value is not None:
                    readers[value.op].append(i)
        return readers

    def _needed(self) -> bytearray:
        """Operations that a result needs; the state's leaves always."""
        needed = bytearray(len(self.program.ops))
        stack = [v.op for v in self.program.results if v is not None] + self.program.arguments[:self.step.leaves]
        while stack:
            i = stack.pop()
            if not needed[i]:
                needed[i] = 1
                stack.extend(v.op for v in self.program.ops[i].inputs if v is not None)
        return needed

    def _broadcasts_in_place(self) -> set[int]:
        """Broadcasts that are never written out: all that reads them goes element by element."""
        results = {v.op for v in self.program.results if v is not None}
        return {i for i, op in enumerate(self.program.ops) if op.primitive == "broadcast_in_dim" and self.needed[i] and i not in results
                and all(self.program.ops[r].primitive in ELEMENTWISE for r in self.readers[i] if self.needed[r])}

    def _writers(self) -> dict[int, int]:
        """Operations that write a leaf's new value over the old one: operation -> leaf."""
        uses = Counter(value.op for value in self.program.results if value is not None)
        found: dict[int, int] = {}
        for leaf, result in enumerate(self.program.results[:self.step.leaves]):
            if result is None or uses[result.op] > 1:
                continue
            op = self.program.ops[result.op]
            if op.primitive in _WRITES_IN_PLACE and len(op.outputs) == 1 and self._last_reader(self.program.arguments[leaf]) <= result.op:
                found[result.op] = leaf
        return found

    def _last_reader(self, argument: int) -> int:
        """The last operation in the program's order that reads an argument, by what may be views of it too."""
        last = argument
        stack = [argument]
        while stack:
            for reader in self.readers[stack.pop()]:
                last = max(last, reader)
                if self._is_view(reader, self.program.ops[reader]):
                    stack.append(reader)
        return last

    # Nodes

    def _spec(self, value: Value) -> TensorSpec:
        spec = self.program.ops[value.op].outputs[value.output]
        if value.op in self.broadcasts:
            source = self.program.ops[value.op].specs[0]
            return TensorSpec(source.shape, spec.dtype, spec.itemsize)
        return spec

    def _add_node(self, i: int, op: Op) -> int:
        size = sum(t.unique_bytes for t in op.outputs)
        if op.primitive == "argument":
            place = self.place[i]
            held = place < self.step.leaves
            return self.builder.node(self.step.names[place], op="state" if held else "input", mem=size, kind=Kind.RESIDUAL if held else Kind.NORMAL,
                                     colocation=place if held else -1)
        if op.primitive == "constant":
            return self.builder.node(f"constant/{i}", op="constant", mem=size, kind=Kind.RESIDUAL)
        name = f"{op.scope}/{op.primitive}" if op.scope else op.primitive
        source = op.inputs[0] if op.inputs and self._is_view(i, op) else None
        cost = self.costs.of(name, op, source is not None)
        if i in self.writers:
            return self.builder.node(name, op=op.primitive, comp=cost.ns, temp=cost.temp, kind=Kind.REFERENCE, colocation=self.writers[i],
                                     alias=self.node[self.program.arguments[self.writers[i]]])
        mem = 0 if source is not None else self._spec(Value(i, 0)).unique_bytes if i in self.broadcasts else size
        return self.builder.node(name, op=op.primitive, comp=cost.ns, temp=cost.temp, mem=mem, alias=self.node[source.op] if source is not None else -1)

    def _is_view(self, i: int, op: Op) -> bool:
        same = bool(op.specs) and op.specs[0].unique_bytes == op.outputs[0].unique_bytes
        return op.primitive in VIEWS or i in self.broadcasts or (op.primitive == "broadcast_in_dim" and same)

    # State

    def _add_updates(self) -> None:
        """The nodes that write new values, and the edges that keep them behind the readers of the old ones."""
        writer = {leaf: self.node[i] for i, leaf in self.writers.items()}
        added = 0
        for leaf, value in enumerate(self.program.results[:self.step.leaves]):
            if value is None:
                self.report.count("leaves of the state set to a constant, which takes no operation", self.step.names[leaf])
            elif value.op == self.program.arguments[leaf]:
                self.report.count("leaves of the state that stay as they are", self.step.names[leaf])
            elif leaf not in writer:
                writer[leaf] = self._update(leaf, value)
                added += 1
        for leaf, node in sorted(writer.items()):
            self.builder.edge(self.node[self.program.arguments[leaf]], node, 0)
            for reader in self._users(self.program.arguments[leaf]):
                if self.node[reader] != node:
                    self.builder.edge(self.node[reader], node, 0)
        self.report.count("nodes added that copy a new value into the state", times=added)

    def _update(self, leaf: int, value: Value) -> int:
        spec = self.program.result_specs[leaf]
        copy = Op("copy", "", [value], [spec], [spec])
        source, output = self.node[value.op], value.output
        if self.program.ops[value.op].primitive == "argument":
            # A leaf that takes another's old value: kept apart, since the other may be written first.
            source, output = self._copy_of(value, copy), 0
        name = f"update/{self.step.names[leaf]}"
        cost = self.costs.of(name, copy, False)
        node = self.builder.node(name, op="update", comp=cost.ns, kind=Kind.REFERENCE, colocation=leaf)
        self.builder.edge(source, node, spec.unique_bytes, output)
        return node

    def _copy_of(self, value: Value, copy: Op) -> int:
        cost = self.costs.of("copy", copy, False)
        node = self.builder.node("copy", op="copy", comp=cost.ns, mem=copy.outputs[0].unique_bytes)
        self.builder.edge(self.node[value.op], node, copy.outputs[0].unique_bytes, value.output)
        self.program.ops.append(copy)
        self.node[len(self.program.ops) - 1] = node
        self.readers.append([])
        self.readers[value.op].append(len(self.program.ops) - 1)
        self.needed.append(1)
        return node

    def _users(self, argument: int) -> list[int]:
        """Operations that read an argument, by views too."""
        found: list[int] = []
        stack = [argument]
        while stack:
            for reader in self.readers[stack.pop()]:
                if self.needed[reader]:
                    found.append(reader)
                    if self.builder.get(self.node[reader], "alias") >= 0:
                        stack.append(reader)
        return sorted(set(found))

    def _mark_gradients(self) -> None:
        found = gradients(self.program, self.step.leaves, self.readers, self.needed)
        for leaf, gradient in sorted(found.items()):
            node = self.node[gradient.op]
            if len(self.program.ops[gradient.op].outputs) > 1 or self.builder.get(node, "gradient_of") >= 0:
                self.report.count("gradients that share an operation with others, not marked", self.step.names[leaf])
                continue
            self.builder.set(node, gradient_of=self.node[self.program.arguments[leaf]])
        marked = sum(self.builder.get(n, "gradient_of") >= 0 for n in range(len(self.builder)))
        self.report.note(f"gradients of {marked} of {self.step.leaves} leaves of the state are marked (the others: slots, counters, or not told apart)")
