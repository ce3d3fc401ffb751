"""Which variable of a layer each operation of an optimizer works for, by the data flow of a graph.

A profile has no data flow, and optimizers name their operations by number (``adam/truediv_37``). In the graph an update
names the variable that it changes, and the forward pass reads that variable in the scope of its layer. An operation
belongs to a variable if it leads to updates of this variable alone, or to those of its slots (a moment, an average).
What leads to several variables, such as a learning rate or a global norm, belongs to the optimizer.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Iterator, Optional

#: Between the scope of a call and what is called so in the function.
CALLS = "|"

_CHANGES = ("Assign", "Apply", "ResourceApply", "ResourceSparseApply", "SparseApply", "ResourceScatter")
_CALLING = ("PartitionedCall", "StatefulPartitionedCall")
_LOOPS = ("While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase")
#: Functions that go through a data set run without the scope of what calls them.
_DATA = ("ReduceDataset", "ScanDataset")
#: They take no time.
_PASSIVE = ("Const", "NoOp", "Placeholder")
_RESOURCE = 20
#: Larger graphs are left alone: the optimizer's operations are then its own.
_MOST = 200_000
_DEEPEST = 32
#: The owner of what belongs to several.
_SEVERAL = ""


class _Node:
    """An operation, with the functions around it inlined."""

    __slots__ = ("outer", "own", "kind", "inputs", "variables", "is_outside", "owner")

    def __init__(self, outer: tuple[str, ...], own: str, kind: str) -> None:
        #: The scopes of the calls around it, and its name in the innermost function.
        self.outer, self.own, self.kind = outer, own, kind
        self.inputs: list[_Node] = []
        #: The variables that it takes as they are, to read or to change them.
        self.variables: list[str] = []
        #: Whether it is a gradient or a part of the model.
        self.is_outside = False
        #: The variable it works for.
        self.owner: Optional[str] = None

    def changes(self) -> bool:
        return self.kind.startswith(_CHANGES) and bool(self.variables)


def updates(definition: Any, variables: dict[str, str], names: dict[str, str]) -> dict[str, str]:
    """What is to be known about the names of an optimizer's operations.

    `definition` is the GraphDef of a function, `variables` has the names of the variables by the placeholders that they
    are captured as, `names` the scopes of layers as ``layer:<scope>``.
    """
    graph = _Graph(definition)
    if not graph.is_whole:
        return {}
    graph.mark_model()
    layers = graph.layers_of(variables, names)
    graph.find_owners(set(layers))
    found: dict[str, str] = {}
    for node in graph.nodes:
        if node.owner and node.owner in layers and not node.is_outside and node.kind not in _PASSIVE:
            key = "update:" + CALLS.join((*node.outer, node.own))
            layer = layers[node.owner]
            # A function that is called twice for different variables has operations of the same name.
            found[key] = layer if found.setdefault(key, layer) == layer else ""
    return {key: layer for key, layer in found.items() if layer}


def variables_of(graph: Any) -> dict[str, str]:
    """The names of the variables that a graph captures, by their placeholders."""
    names = {id(variable.handle): str(variable.name).partition(":")[0] for variable in graph.variables}
    return {inner.op.name: names[id(outer)] for outer, inner in graph.captures if id(outer) in names}


class _Graph:
    """A graph with its functions inlined."""

    def __init__(self, definition: Any) -> None:
        self.nodes: list[_Node] = []
        self.is_whole = True
        self._functions = {function.signature.name: function for function in definition.library.function}
        #: Loops and branches, by the scopes of the calls around them and their names.
        self._loops: set[tuple[tuple[str, ...], str]] = set()
        captured: dict[str, tuple[Optional[_Node], Optional[str]]] = {
            node.name: (None, node.name)
            for node in definition.node
            if node.op == "Placeholder" and node.attr["dtype"].type == _RESOURCE
        }
        self._inline(definition.node, (), captured, 0)

    def _inline(
        self, definitions: Any, outer: tuple[str, ...], given: dict[str, tuple[Optional[_Node], Optional[str]]], depth: int
    ) -> None:
        """Adds the nodes of a function. `given` are its arguments: what computes them, or the variable that they are."""
        if depth > _DEEPEST or len(self.nodes) + len(definitions) > _MOST:
            self.is_whole = False
            return
        made = {node.name: _Node(outer, node.name, node.op) for node in definitions}
        self.nodes.extend(made.values())
        for definition in definitions:
            node = made[definition.name]
            taken = []
            for text in definition.input:
                name = text.partition(":")[0]
                if name.startswith("^"):
                    continue
                source, variable = given.get(name) or (made.get(name), None)
                taken.append((source, variable))
                if variable is not None:
                    node.variables.append(variable)
                elif source is not None:
                    node.inputs.append(source)
            if node.kind in _LOOPS:
                self._loops.add((outer, node.own))
            for function in self._called(definition):
                # What a function takes first, such as an element of the data, may not be an argument of the call.
                names = [argument.name for argument in function.signature.input_arg]
                inner = dict(zip(reversed(names), reversed(taken)))
                self._inline(function.node_def, _around(node), inner, depth + 1)

    def _called(self, definition: Any) -> Iterator[Any]:
        if definition.op not in (*_CALLING, *_LOOPS, *_DATA):
            return
        for value in definition.attr.values():
            for called in (value.func, *value.list.func):
                if called.name in self._functions:
                    yield self._functions[called.name]

    def _bare(self, outer: tuple[str, ...], own: str) -> list[str]:
        """The parts of a name without loops and branches."""
        parts = own.split("/")
        return [part for at, part in enumerate(parts, 1) if (outer, "/".join(parts[:at])) not in self._loops]

    def mark_model(self) -> None:
        """Marks gradients, and what is in a scope that something has gradients in."""
        tops = set()
        for node in self.nodes:
            parts = node.own.split("/")
            if "gradient_tape" in parts:
                node.is_outside = True
                of = self._bare(node.outer, "/".join(parts[parts.index("gradient_tape") + 1 : -1]))
                tops.update(of[:1] if len(of) > 1 else ())
            elif any(re.fullmatch(r"gradients(_\d+)?", part) for part in parts[:-1]):
                node.is_outside = True
        for node in self.nodes:
            bare = self._bare(node.outer, node.own) if not node.is_outside else ()
            node.is_outside = node.is_outside or (len(bare) > 1 and bare[0] in tops)

    def layers_of(self, variables: dict[str, str], names: dict[str, str]) -> dict[str, str]:
        """Where the variables of the model are: the scope of the layer that reads each, and the variable's own name."""
        readers: dict[str, dict[str, tuple[tuple[str, ...], str]]] = {}
        for node in self.nodes:
            is_forward = node.is_outside and "gradient_tape" not in node.own and not node.changes()
            if is_forward and node.kind not in (*_CALLING, *_LOOPS, *_DATA):
                for variable in node.variables:
                    parents = variables.get(variable, "").split("/")[:-1]
                    scope = _layer(node.own, parents, names)
                    if scope:
                        readers.setdefault(variable, {})[_restored(scope, names)] = node.outer, scope
        found = {}
        for variable, scopes in readers.items():
            *parents, last = variables.get(variable, "").split("/")
            if len(scopes) > 1:
                # Of a variable that several layers read, one is the owner.
                scopes = {path: at for path, at in scopes.items() if path.split("/")[-1:] == parents[-1:]} or scopes
            outer, scope = next(iter(scopes.values()))
            if len(scopes) > 1:
                scope = _shared([scope for _, scope in scopes.values()])
            if scope:
                found[variable] = CALLS.join((*outer, f"{scope}/{last}" if last else scope))
        return found

    def find_owners(self, model: set[str]) -> None:
        """Finds the variable of the model that each operation works for."""
        owners = {variable: variable for variable in model}
        open_ = [node for node in self.nodes if node.changes() and not node.is_outside]
        while open_:
            later = []
            for node in open_:
                known = [owners[variable] for variable in node.variables if owners.get(variable)]
                mine = [variable for variable in known if variable in node.variables] or known
                if mine:
                    _give(node, mine[0])
                else:
                    later.append(node)
            if len(later) == len(open_):
                break
            open_ = later
            # What is read for one variable alone is one of its slots.
            slots: dict[str, str] = {}
            for node in self.nodes:
                for variable in node.variables if node.owner is not None and not node.is_outside else ():
                    if variable not in model:
                        slots[variable] = _one(slots.get(variable), node.owner)
            owners.update(slots)
        for node in self.nodes:
            known = [owners.get(variable) for variable in node.variables]
            if node.owner is None and len(known) == 1 and not node.is_outside:
                node.owner = known[0]
        particular = self._after(node for node in self.nodes if node.is_outside or any(map(owners.get, node.variables)))
        for node in self.nodes:
            # Scalars that each update computes from the same counters are made one by TensorFlow when the graph runs.
            if id(node) not in particular:
                node.owner = None

    def _after(self, sources: Iterable[_Node]) -> set[int]:
        """The identities of some nodes and of everything that depends on them."""
        takers: dict[int, list[_Node]] = {}
        for node in self.nodes:
            for source in node.inputs:
                takers.setdefault(id(source), []).append(node)
        open_ = list(sources)
        found = set(map(id, open_))
        while open_:
            for taker in takers.get(id(open_.pop()), ()):
                if id(taker) not in found:
                    found.add(id(taker))
                    open_.append(taker)
        return found


def _give(update: _Node, owner: str) -> None:
    """Gives an update and everything that leads to it to a variable, or to several if others have it already."""
    open_ = [update]
    while open_:
        node = open_.pop()
        given = _one(node.owner, owner)
        if node.is_outside or given == node.owner:
            continue
        node.owner = given
        # What a function computes for several is not known apart outside of it.
        if node.kind not in (*_CALLING, *_LOOPS):
            open_.extend(node.inputs)


def _one(known: Optional[str], other: Optional[str]) -> str:
    """The owner of what two own."""
    return other or _SEVERAL if known is None or known == other else _SEVERAL


def _around(node: _Node) -> tuple[str, ...]:
    """The scopes of the calls around what a node calls. Names inside of loops and branches are whole already."""
    if node.kind in _DATA:
        return ()
    scope = node.own.rpartition("/")[0] if node.kind in _CALLING else ""
    return (*node.outer, scope) if scope else node.outer


def _layer(reader: str, parents: list[str], names: dict[str, str]) -> str:
    """The scope of the layer that reads a variable: `parents` are the scopes in the variable's own name."""
    scope, _, last = reader.rpartition("/")
    if re.fullmatch(r"ReadVariableOp(_\d+)?", last):
        # It is an operand, which is named after its operation.
        scope = scope.rpartition("/")[0]
    parts = scope.split("/")
    prefixes = ["/".join(parts[:end]) for end in range(len(parts), 0, -1)]
    known = next((prefix for prefix in prefixes if f"layer:{prefix}" in names), None)
    if known is None and parents:
        known = next((prefix for prefix in prefixes if prefix.rpartition("/")[2] == parents[-1]), None)
    return known or scope


def _restored(scope: str, names: dict[str, str]) -> str:
    """A scope with the names that the program gives its layers."""
    parts = scope.split("/")
    return "/".join(names.get("layer:" + "/".join(parts[:end]), parts[end - 1]) for end in range(1, len(parts) + 1))


def _shared(scopes: list[str]) -> str:
    """The innermost scope that holds all of `scopes`."""
    shared: list[str] = []
    for parts in zip(*(scope.split("/") for scope in scopes)):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "/".join(shared)
