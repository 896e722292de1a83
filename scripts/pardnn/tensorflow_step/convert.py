"""A flat GraphDef, with or without a profile of it, as a graph for the partitioner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..capture_common import CaptureError, Costing, Report
from ..costs import Cost, OpCall, TensorSpec
from ..graph import Graph, GraphBuilder, Kind
from .control_flow import FUNCTIONAL, Bodies, bypass_loops_with_handles
from .flat_graph import CONTROL, FlatGraph, cut_loops, parse, pruned, refuse_cycle
from .flops import flops_of
from .gradients import gradients
from .groups import colocation_groups
from .in_place import in_place_sources
from .inline import Inlined, inlined
from .op_kinds import REF_VARIABLES, RESIDUALS, VARIABLES
from .profile_names import ProfileNames
from .run_metadata import NodeProfile, Profile
from .shapes import inferred_shapes, known_spec, set_feeds, straighten_loops
from .variables import Touches, alias_sources, touches, variable_order


@dataclass
class Options:
    """``fetches``: names of what the step computes (else what the profile saw, else all). ``feeds``: shapes of placeholders by name.

    ``unknown_dim``: size taken for unknown dimensions; None refuses them. ``cut_loops``: cut TF1 while loops at their back edges.
    ``in_place``: take operations that surely overwrite their input as aliases of it.
    ``iterations``: of functional loops, whose trip counts no graph tells. ``captured``: bytes of tensors that a function holds on to.
    ``within``: functions of control flow whose bodies this graph is part of.
    """

    fetches: Sequence[str] = ()
    feeds: Mapping[str, Sequence[int]] = field(default_factory=dict)
    unknown_dim: int | None = None
    cut_loops: bool = False
    in_place: bool = True
    iterations: int = 1
    name: str = "graph"
    captured: Mapping[str, int] = field(default_factory=dict)
    within: frozenset[str] = frozenset()


def convert(definition: Any, costing: Costing, options: Options, profile: Profile | None = None) -> tuple[Graph, Report]:
    """The graph of one step of a GraphDef, which is changed. O((nodes + edges) log nodes)."""
    set_feeds(definition, options.feeds)
    return convert_flat(inlined(definition), costing, options, profile)


def convert_flat(flat: Inlined, costing: Costing, options: Options, profile: Profile | None = None) -> tuple[Graph, Report]:
    """The graph of one step of a graph without calls."""
    report = Report()
    report.count("calls of functions inlined", times=flat.calls)
    bypass_loops_with_handles(flat.graph)
    names = ProfileNames(profile, flat)
    fed = names.fed_shapes()
    set_feeds(flat.graph, {n.name: fed[n.name] for n in flat.graph.node if n.op == "Placeholder" and n.name in fed and n.name not in options.feeds})
    graph = _step(parse(flat.graph), options, names, flat.renamed, report)
    if options.cut_loops:
        for name in cut_loops(graph):
            report.count("loops cut at their back edge: each counts for one iteration, unless measured", name)
    refuse_cycle(graph)
    try:
        return _Conversion(graph, flat.graph, costing, options, names, report).build(), report
    except CaptureError:
        raise
    except ValueError as error:  # a cycle, a size beyond 63 bits
        raise CaptureError(str(error)) from error


def _step(graph: FlatGraph, options: Options, profile: ProfileNames, renamed: Mapping[str, str], report: Report) -> FlatGraph:
    """The part of the graph that one step runs."""
    index = {name: n for n, name in enumerate(graph.names)}
    if options.fetches:
        roots = []
        for name in options.fetches:
            name = renamed.get(name if ":" in name or name.startswith("^") else f"^{name}", name).lstrip("^").split(":")[0]
            if name not in index:
                raise CaptureError(f"fetch '{name}': no such node")
            roots.append(index[name])
    elif profile.given:
        roots = [n for n, name in enumerate(graph.names) if profile.of(name) is not None]
        profile.refuse_stranger(len(roots))
    else:
        read = {s for edges in graph.inputs for s, _ in edges}
        sinks = [n for n in range(len(graph)) if n not in read]
        report.count("sinks kept, as no fetch chose a step", graph.names[sinks[0]] if sinks else "", len(sinks))
        return graph
    step = pruned(graph, roots)
    report.count("nodes dropped that the step does not need", times=len(graph) - len(step))
    return step


class _Conversion:
    """Builds the nodes, then the edges, of one graph."""

    def __init__(self, graph: FlatGraph, flat: Any, costing: Costing, options: Options, profile: ProfileNames, report: Report) -> None:
        self.graph, self.costing, self.options, self.profile, self.report = graph, costing, options, profile, report
        self.bodies = Bodies(flat.library, costing, options, report)
        self.specs = self._specs(flat)
        self._bypass_identity_n()
        self.touches: Touches = touches(graph)
        self.alias = alias_sources(graph)
        self.order = variable_order(graph, self.touches, self.alias)
        self.in_place = self._in_place()
        self.builder = GraphBuilder(options.name, "pardnn.capture_tensorflow")

    def build(self) -> Graph:
        self.groups = colocation_groups(self.graph, self.touches, self.dtypes)
        self.report.count("reads of variables that keep a copy, as the value is used after an update", times=len(self.order.copies))
        for node in range(len(self.graph)):
            self._add_node(node)
        for node in range(len(self.graph)):
            for source, output in self.graph.inputs[node]:
                size = 0 if output == CONTROL else self._size(source, output)
                self.builder.edge(source, node, size, max(output, 0))
        for source, target in self.order.edges:
            self.builder.edge(source, target, 0)
        self.report.count("control edges added that order users of variables and updates", times=len(self.order.edges))
        self._mark_gradients()
        self.profile.tell(self.graph.names, self.report)
        return self.builder.build()

    # Shapes

    def _specs(self, flat: Any) -> list[list[TensorSpec]]:
        """What each node puts out: by the profile where it ran, else by inference."""
        kept = set(self.graph.names)
        step = type(flat)()
        step.versions.CopyFrom(flat.versions)
        step.library.CopyFrom(flat.library)
        step.node.extend(node for node in flat.node if node.name in kept)
        for node in step.node:
            node.device = ""
        if self.options.cut_loops:
            straighten_loops(step)
        inferred = inferred_shapes(step, self.graph.names)
        self.dtypes = [[dtype for _, dtype in outputs] for outputs in inferred]
        result = []
        for name, outputs in zip(self.graph.names, inferred):
            seen = self.profile.of(name)
            result.append([self._spec(name, i, shape, dtype, seen) for i, (shape, dtype) in enumerate(outputs)])
        return result

    def _spec(self, name: str, output: int, shape: tuple[int, ...] | None, dtype: int, seen: NodeProfile | None) -> TensorSpec:
        if seen is not None and output in seen.outputs and (shape is None or -1 in shape):
            return seen.outputs[output]
        spec = known_spec(name if output == 0 else f"{name}:{output}", shape, dtype, self.options.unknown_dim, self.report)
        if spec.dtype == "variant":
            self.report.count("variant tensors (lists, data sets) that loops do not fill: size unknown, taken as 0 B", name)
        elif spec.dtype == "string":
            self.report.count("string tensors, taken as 24 B an element", name)
        return spec

    def _bypass_identity_n(self) -> None:
        """Readers of an IdentityN read what goes into it, and wait for it: its outputs are no copies, and not one buffer either."""
        graph = self.graph
        sources = {n: graph.data(n) for n, op in enumerate(graph.ops) if op == "IdentityN"}
        if not sources:
            return
        self.report.count("IdentityN whose readers read its inputs", times=len(sources))
        for node in range(len(graph)):
            edges: list[tuple[int, int]] = []
            for source, output in graph.inputs[node]:
                while output != CONTROL and source in sources:
                    edges.append((source, CONTROL))
                    source, output = sources[source][output]
                edges.append((source, CONTROL if node in sources else output))
            graph.inputs[node] = sorted(dict.fromkeys(edges), key=lambda e: e[1] == CONTROL)

    def _in_place(self) -> dict[int, int]:
        if not self.options.in_place:
            return {}
        alias = [-1 if n in self.order.copies else a for n, a in enumerate(self.alias)]
        sizes = [[t.unique_bytes for t in outputs] for outputs in self.specs]
        index = {name: n for n, name in enumerate(self.graph.names)}
        kept = frozenset(index[name] for name in self.options.fetches if name in index)
        found = in_place_sources(self.graph, alias, sizes, lambda n: self.graph.ops[n] not in RESIDUALS and n not in self.touches.writes
                                 and self.graph.names[n] not in self.options.captured and self.touches.origin[n] < 0, kept)
        self.report.count("operations that work in place, on the device of their input", times=len(found))
        return found

    # Nodes

    def _size(self, node: int, output: int) -> int:
        """Bytes that a reader of an output reads: of a variable's handle or reference those of the variable."""
        variable = self.touches.origin[node]
        return self._variable(variable).unique_bytes if variable >= 0 else self.specs[node][output].unique_bytes

    def _variable(self, node: int) -> TensorSpec:
        if self.graph.ops[node] in REF_VARIABLES:
            return self.specs[node][0]
        attributes = self.graph.nodes[node].attr
        shape = attributes["shape"].shape
        dims = None if shape.unknown_rank else tuple(d.size for d in shape.dim)
        return known_spec(self.graph.names[node], dims, attributes["dtype"].type, self.options.unknown_dim, self.report)

    def _add_node(self, node: int) -> None:
        name, op, group = self.graph.names[node], self.graph.ops[node], self.groups[node]
        if op in RESIDUALS or name in self.options.captured:
            size = self._variable(node).unique_bytes if op in VARIABLES else self.options.captured.get(name, self._output_bytes(node))
            self.builder.node(name, op=op, mem=size, kind=Kind.RESIDUAL, colocation=group)
            return
        view = -1 if node in self.order.copies else self.alias[node]
        alias = self.in_place.get(node, view)
        writes = node in self.touches.writes
        by_reference = writes and self.touches.origin[node] >= 0
        cost = self._cost(node, view >= 0)
        owns = self._output_bytes(node)
        reference = by_reference or (writes and not owns)
        self.builder.node(name, op=op, comp=cost.ns, temp=cost.temp, colocation=group,
                          kind=Kind.REFERENCE if reference else Kind.NORMAL,
                          alias=self.touches.origin[node] if by_reference else alias,
                          mem=0 if reference or alias >= 0 or op == "IdentityN" else owns)

    def _output_bytes(self, node: int) -> int:
        return sum(t.unique_bytes for t in self.specs[node])

    def _cost(self, node: int, is_view: bool) -> Cost:
        name, op = self.graph.names[node], self.graph.ops[node]
        if op in ("NoOp", "Placeholder", "PlaceholderV2", "_Arg"):
            return Cost(0)
        outputs = self.specs[node]
        inputs = [self._variable(self.touches.origin[s]) if self.touches.origin[s] >= 0 else self.specs[s][o] for s, o in self.graph.data(node)]
        flops = flops_of(op, self.graph.nodes[node].attr, inputs, outputs)
        seen = self.profile.of(name)
        if seen is not None:
            return self.costing.measured(name, seen.ns / self.profile.sharers(name), seen.temp, f"tf::{op}", flops)
        if op in FUNCTIONAL:
            run = self.bodies.run(self.graph.nodes[node], inputs, self._input_types(node))
            self._keep(node, run.kept)
            return run.cost
        return self.costing.modelled(name, OpCall(f"tf::{op}", tuple(inputs), outputs=tuple(outputs), flops=flops, is_view=is_view))

    def _keep(self, node: int, size: int) -> None:
        """Gives the lists that a loop puts out the bytes that it pushes onto them, in equal parts."""
        lists = [i for i, t in enumerate(self.specs[node]) if t.dtype == "variant"]
        for i in lists if size else ():
            self.specs[node][i] = TensorSpec((size // len(lists),), "variant", 1)
            self.report.count("lists put out by loops, which hold what the loops push", self.graph.names[node])

    def _input_types(self, node: int) -> list[tuple[int, bool]]:
        """DataType of each input, and whether it is a variable's handle."""
        return [(self.dtypes[s][o], self.touches.origin[s] >= 0) for s, o in self.graph.data(node)]

    # Marks and counts

    def _mark_gradients(self) -> None:
        shapes = [[t.shape for t in outputs] for outputs in self.specs]
        found = gradients(self.graph, self.touches, shapes)
        for variable, gradient in sorted(found.items()):
            if self.builder.get(gradient, "kind") == Kind.RESIDUAL:
                continue
            if self.builder.get(gradient, "gradient_of") >= 0:
                self.report.count("gradients that several variables share, marked for the first alone", self.graph.names[gradient])
                continue
            self.builder.set(gradient, gradient_of=variable)
        others = {v for variables in self.touches.writes.values() for v in variables} - set(found)
        self.report.count("variables that change without a gradient that is told apart (slots, counters, statistics)",
                          self.graph.names[min(others)] if others else "", len(others))
