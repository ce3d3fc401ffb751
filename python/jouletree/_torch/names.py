"""What modules are called: the names that the program gave them, from the model that holds them downwards.

A program with one model reads as its author wrote it: ``bert/encoder/layer.0/attention``, and what the model itself
does between its modules is under its class, ``BertForMaskedLM``. In a program with several models (a generator and
a discriminator) each name begins with its model's, so that they stay apart: ``Generator/main.0``. A model is called by
its class; where that says nothing (``Sequential``) or is taken, by the variable that holds it, if that is known.

What holds what is learnt when modules are put into each other. So a part that is called alone, as in Lightning's
``training_step``, still has its whole name, and it is known how many models there are before the first one runs.
Modules are held weakly, and by their identity: a module may define what being equal means.
"""

from __future__ import annotations

import sys
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

#: Modules that only wrap another, and where they keep it: their own names say nothing about the model.
_WRAPPERS = {
    "DataParallel": "module",
    "DistributedDataParallel": "module",
    "DeepSpeedEngine": "module",
    "OptimizedModule": "_orig_mod",
    "FullyShardedDataParallel": "_fsdp_wrapped_module",
    "CheckpointWrapper": "_checkpoint_wrapped_module",
}


class Entry:
    """A module that is known: `path` as in traces, `span` as torch's profiler names it."""

    __slots__ = ("is_model", "kind", "module", "path", "qualified", "root", "span")

    def __init__(self, module: Any, qualified: str, root: Optional[Entry], end: Callable[[Any], None]) -> None:
        self.module: Callable[[], Any] = weakref.ref(module, end)
        self.qualified = qualified
        self.path = path_of(qualified)
        self.span = "module::" + qualified
        self.kind = type(module).__name__
        #: The model that it is part of: itself, if it is one.
        self.root = root or self
        #: Whether its calls can be steps; ``None`` if that depends on the rest of the program or is not known yet.
        self.is_model: Optional[bool] = None


class Names:
    """The modules that have been met."""

    def __init__(self, is_compiling: Callable[[], bool]) -> None:
        self._is_compiling = is_compiling
        #: By identity; callers make sure that the module is still the same one.
        self.entries: dict[int, Entry] = {}
        self._holders: dict[int, tuple[Any, Any, str]] = {}
        self._models: dict[int, Any] = {}
        #: Models that have a name; one that is gone leaves it to the next, such as that of another fold.
        self._named: dict[str, Any] = {}
        #: The model whose parts are named without it.
        self._bare: Any = None
        #: What calls modules while a batch is fetched.
        self.data = Entry(self, "data", None, lambda reference: None)
        #: How models were compiled ahead of their calls: the tools that did it.
        self.compilers: set[str] = set()

    def put(self, holder: Any, name: str, part: Any) -> None:
        """Notes that a module becomes part of another; torch calls this for each that does."""
        if part is None or self._is_compiling():
            return
        try:
            self._models.pop(id(part), None)
            if self._holder(holder) is None and id(holder) not in self._models:
                self._models[id(holder)] = weakref.ref(holder)
            if self._holder(part) is None:
                self._holders[id(part)] = (weakref.ref(part), weakref.ref(holder), name)
        except TypeError:
            pass  # Not everything that is put into a module can be held weakly.

    def of(self, module: Any, caller: Optional[Entry]) -> Entry:
        """What a module is called that is called by another, or by the program."""
        entry = self._known(module)
        if entry is not None:
            return entry
        model = self._model_of(module)
        if caller is not None and self._known(model) is None and model is not caller.root.module():
            # Made on the fly, or kept where torch does not see it: it belongs to its caller.
            self._index(model, f"{caller.qualified}.{type(model).__name__}", caller.root)
        else:
            self._index(model)
        return self._known(module) or self._enter(module, type(module).__name__, caller.root if caller else None)

    def call(self, model: Any, name: str) -> None:
        """Gives a model, and so its parts, a name."""
        self._named[name] = weakref.ref(model)
        self._index(model, name)

    def forget(self, model: Any) -> None:
        """Lets the names of a model go."""
        for part in model.modules():
            self.entries.pop(id(part), None)

    def _known(self, module: Any) -> Optional[Entry]:
        entry = self.entries.get(id(module))
        return entry if entry is not None and entry.module() is module else None

    def _enter(self, module: Any, qualified: str, root: Optional[Entry]) -> Entry:
        entry = self.entries[id(module)] = Entry(module, qualified, root, self._forgets(id(module)))
        compiler = _compiler(module, entry.kind)
        if compiler is not None:
            self.compilers.add(compiler)
        return entry

    def _forgets(self, identity: int) -> Callable[[Any], None]:
        def forget(reference: Any) -> None:
            entry = self.entries.get(identity)
            if entry is not None and entry.module is reference:
                del self.entries[identity]

        return forget

    def _holder(self, part: Any) -> Any:
        """What holds a module, if it still does."""
        known = self._holders.get(id(part))
        if known is None or known[0]() is not part:
            return None
        holder = known[1]()
        if holder is None or _part(holder, known[2]) is not part:
            del self._holders[id(part)]
            return None
        return holder

    def _model_of(self, module: Any) -> Any:
        """The outermost module that holds this one."""
        seen = {id(module)}
        while True:
            holder = self._holder(module)
            if holder is None or id(holder) in seen:
                return module
            seen.add(id(holder))
            module = holder

    def _index(self, model: Any, name: Optional[str] = None, root: Optional[Entry] = None) -> None:
        """Names a model and everything in it. Parts that are used twice keep the name they have first."""
        known = self._known(model)
        parts = [(_plain(model, path), part) for path, part in model.named_modules()]
        if name is not None:
            prefix = name + "."
            entry = self._enter(model, name, root)
        elif known is not None:
            # It got further parts: they are named as the others were.
            prefix = "" if self._is_bare(model) else known.qualified + "."
            entry = known
        else:
            others = self.others(model)
            name = self._own_name(model, others)
            prefix = name + "."
            if not others and not any(path.partition(".")[0].isdigit() for path, _ in parts):
                prefix = ""
                self._bare = weakref.ref(model)
            entry = self._enter(model, name, None)
        for path, part in parts:
            if part is not model and (known is None or self._known(part) is None):
                self._enter(part, (prefix + path) if path else entry.qualified, entry.root)

    def _is_bare(self, model: Any) -> bool:
        return self._bare is not None and self._bare() is model

    def models(self) -> list[tuple[Any, str]]:
        """The models that are known, and their names."""
        found: dict[int, tuple[Any, str]] = {}
        for entry in list(self.entries.values()):
            model = entry.root.module()
            if model is not None and model is not self:
                found.setdefault(id(model), (model, entry.root.qualified))
        for reference in list(self._models.values()):
            model = reference()
            if model is not None and self._model_of(model) is model:
                found.setdefault(id(model), (model, type(_unwrapped(model)).__name__))
        return list(found.values())

    def others(self, model: Any) -> list[Any]:
        """The other models of the program: those that have run, and those that have parts and parameters."""
        inner = _unwrapped(model)
        others = {}
        for reference in (*self._models.values(), *self._named.values()):
            other = reference()
            if other is None or other is model or _unwrapped(other) is inner or self._model_of(other) is not other:
                continue
            if len(other._modules) and next(other.parameters(), None) is not None:
                others[id(other)] = other
        return list(others.values())

    def _own_name(self, model: Any, others: list[Any]) -> str:
        """What a model is called: by its class, or by the program's variable."""
        kind = type(_unwrapped(model))
        name = kind.__name__
        if kind.__module__.startswith("torch.nn.") or any(type(_unwrapped(other)) is kind for other in others):
            name = _variable(model) or name
        free, number = name, 1
        while self._named.get(free, _gone)() is not None:
            number += 1
            free = f"{name}_{number}"
        self._named[free] = weakref.ref(model)
        return free


def _gone() -> None:
    """Represents a module that is not there."""


def path_of(qualified: str) -> str:
    """A qualified name as a path: ``bert.encoder.layer.0.output`` is ``bert/encoder/layer.0/output``."""
    parts = qualified.split(".")
    path = parts[0]
    for part in parts[1:]:
        path += ("." if part.isdigit() else "/") + part
    return path


def _part(module: Any, name: str) -> Any:
    """The part of a module that has this name; scripted modules keep theirs in something that is no dictionary."""
    try:
        return module._modules[name]
    except (AttributeError, KeyError, RuntimeError, TypeError):
        return None


def _unwrapped(model: Any) -> Any:
    """The model itself, without what wraps it."""
    for _ in range(8):
        place = _WRAPPERS.get(type(model).__name__)
        inner = _part(model, place) if place else None
        if inner is None:
            break
        model = inner
    return model


def _plain(model: Any, path: str) -> str:
    """A part's name without the names of what wraps it."""
    if not path:
        return path
    kept = []
    for part in path.split("."):
        if part != _WRAPPERS.get(type(model).__name__):
            kept.append(part)
        model = _part(model, part)
    return ".".join(kept)


def _compiler(module: Any, kind: str) -> Optional[str]:
    """What has made one function of a module's layers, if anything has."""
    if kind in ("RecursiveScriptModule", "TopLevelTracedModule", "TracedModule"):
        return "torch.jit"
    if kind.startswith("GraphModule") or kind == "ExportedModule":
        nodes = getattr(getattr(module, "graph", None), "nodes", ())
        # An exported model may call a module that checks its inputs.
        calls = [node for node in nodes if node.op == "call_module" and not str(node.target).startswith("_guards")]
        if nodes and not calls and next(module.parameters(), None) is not None:
            return "torch.export"
    return None


def _variable(model: Any) -> Optional[str]:
    """The variable of the program's that holds a model, looked for where it was called from."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(("torch.", "jouletree.")) and module != "torch":
            for names in (frame.f_locals, frame.f_globals):
                for name, value in list(names.items()):
                    if value is model and not name.startswith("_") and name != "self":
                        return name
        frame = frame.f_back
    return None
