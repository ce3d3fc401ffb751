"""Everything that is recorded of torch in this process, and how it is put in place."""

from __future__ import annotations

import functools
import time
import weakref
from .._session import guarded
from . import hooks
from .backward import Trail
from .groups import Groups
from .look import Look
from .names import Names
from .profiler import Windows, is_possible
from .threads import Thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator, Optional
    from .._session import Session
    from .names import Entry
    from .steps import Group, Step, Steps

#: Tensors of a call that are looked at to find which calls share them.
_TENSORS = 4
#: After so many calls of one model it is taken to be on its own: which tensors it shares with others is not looked at.
_ALONE = 64

_installed: Optional[Recorder] = None


def install(torch: Any, session: Session, everywhere: bool = True) -> Recorder:
    """The recorder of this process, put in place when it is first asked for."""
    global _installed
    if _installed is None:
        recorder = Recorder(torch, session)
        try:
            recorder.install(everywhere)
        except Exception:
            # A version that lacks something: what is already in place would do nothing but cost.
            recorder.remove()
            raise
        _installed = recorder
    return _installed


def installed() -> Optional[Recorder]:
    """The recorder of this process, if there is one."""
    return _installed


class _Mark:
    """Lives as long as a node of the autograd graph."""

    __slots__ = ("__weakref__",)


class Recorder:
    """What hooks and wrappers share."""

    def __init__(self, torch: Any, session: Session) -> None:
        self.torch = torch
        self.session = session
        if session.level == "op":
            problem = is_possible(torch)
            if problem is not None:
                session.level = "module"
                session.warn(f"{problem}: only modules are recorded")
        #: Whether this code is being compiled by torch, rather than run; older versions have it elsewhere.
        self.is_compiling = getattr(torch.compiler, "is_compiling", None) or torch._utils.is_compiling
        self.names = Names(self.is_compiling)
        self.groups = Groups(self.names)
        self.windows: Optional[Windows] = Windows(torch, session) if session.level == "op" else None
        self.trail = Trail(self)
        #: Notes shapes and data flow while a model runs for the first time.
        self.look: Optional[Look] = None
        #: Whether a library calls modules only in order to build a model of them.
        self.is_building = False
        self.has_trained = False
        self.has_optimizer = False
        #: Whether any module of the program has parameters.
        self.has_parameters = False
        self.all_steps: list[Steps] = []
        self.thread = Thread(self)
        #: Code that calls a module in its local variable `self`.
        self.call_codes: set[Any] = set()
        #: Groups whose steps have too many operations to be recorded.
        self._too_long: set[Group] = set()
        #: The group that the last step with a window seemed to be of.
        self._in_window: Group = ("", "")
        #: The model that was called last, weakly, and how often it was since another one was.
        self._root: Any = None
        self._alone = 0
        self._loss = torch.nn.modules.loss._Loss
        self._weak: Any = None
        self._worker: Any = None
        self._looked: set[str] = set()
        self._is_everywhere = False
        self._handles: list[Any] = []
        self._plain_call = torch.nn.Module._call_impl
        self.entering, self.leaving, self._calling = hooks.of(self)

    def install(self, everywhere: bool) -> None:
        """Puts hooks and wrappers in place; hooks of modules everywhere, or in attached models only."""
        from torch.multiprocessing.reductions import StorageWeakRef
        from torch.utils.data._utils import worker

        from . import compilation, uncompiled, wrappers

        self._weak, self._worker = StorageWeakRef, worker
        session, modules = self.session, self.torch.nn.modules.module
        session.uses("torch", str(self.torch.__version__))
        put = self._handles.append
        put(modules.register_module_module_registration_hook(self.names.put))
        seen = modules.register_module_parameter_registration_hook(lambda module, name, parameter: found())

        def found() -> None:
            self.has_parameters = True
            seen.remove()

        put(seen)
        if everywhere:
            self.torch.nn.Module._call_impl = self._calling
            self._is_everywhere = True
        wrappers.install(self)
        guarded(compilation.install, self)
        guarded(uncompiled.leave_alone, self.torch)
        if self.windows is not None:
            self.windows.install()
        session.when_forked(self._forget)
        session.at_end(self.finish)

    def remove(self) -> None:
        """Takes the hooks of modules away again."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        if self._is_everywhere:
            self.torch.nn.Module._call_impl = self._plain_call
            self._is_everywhere = False

    def attach(self, model: Any, name: Optional[str]) -> Callable[[], None]:
        """Names a model, and hooks its modules where they are not hooked anyway; returns what undoes it."""
        if name:
            self.names.call(model, name)
        handles = []
        if not self._is_everywhere:
            for module in model.modules():
                handles.append(module.register_forward_pre_hook(self.entering))
                handles.append(module.register_forward_hook(self.leaving, with_kwargs=True, always_call=True))
        reference = weakref.ref(model)

        def detach() -> None:
            for handle in handles:
                handle.remove()
            attached = reference()
            if attached is not None and name:
                self.names.forget(attached)

        return detach

    def finish(self) -> None:
        """Notes what is not yet noted."""
        for steps in self.all_steps:
            steps.close()

    def failed(self, error: Exception) -> None:
        """Notes that a call of a module could not be recorded as it should."""
        self.session.warn(f"calls of modules are recorded in part: {type(error).__name__}: {error}")

    def _forget(self) -> None:
        """Forgets, in a process that was forked, what the parent was doing."""
        self.all_steps.clear()
        self.look = None
        self.trail.forget()
        # Hooks hold on to this very object.
        self.thread.__init__(self)  # type: ignore[misc]  # made anew in place, since others hold it

    # Which steps are recorded

    def record(self, step: Step, group: Group) -> None:
        """Has a step that begins recorded, if steps of the group that it seems to be of are."""
        thread, windows = self.thread, self.windows
        if windows is None:
            step.is_noted = True
            return
        if thread.noted:
            # Noting a span takes about as long as recording two events.
            self.session.cost(0, 0, 2 * thread.noted)
            thread.noted = 0
        if windows.was_cut:
            windows.was_cut = False
            self._too_long.add(self._in_window)
        if thread.is_main and not windows.is_forked and group not in self._too_long:
            thread.noting = False
            if windows.covers(self.session.wants(*group), group):
                step.window = windows.number
                self._in_window = group
            return
        if windows.thread == thread.ident:
            guarded(windows.close)
        # Spans are cheap: what operations have cost before does not matter.
        thread.noting = step.is_noted = self.session.level == "op" and self._is_planned(group)
        if step.is_noted:
            self.session.warn(self._why_spans(group))

    def _is_planned(self, group: Group) -> bool:
        """Whether the plan has the next step of a group recorded."""
        return self.session.plan.wants(self.session.ran_so_far(*group) + 1)

    def _why_spans(self, group: Group) -> str:
        if group in self._too_long:
            return "a step has too many operations to be recorded: its modules are recorded instead"
        if self.windows is not None and self.windows.is_forked:
            return "a process that was forked after steps were recorded has its modules recorded, not its operations"
        return "models ran in threads other than the main one: their modules are recorded, not their operations"

    def expect(self, group: Group) -> None:
        """Has recording begin for a step that is about to begin."""
        windows = self.windows
        if windows is None or windows.is_forked or windows.was_cut or group in self._too_long:
            return
        if self.thread.is_main and not windows.thread and self.session.wants(*group):
            windows.open_ahead(group)

    def has_recorded(self, step: Step) -> bool:
        """Whether all of a step that ends was recorded, as its group asks for."""
        windows = self.windows
        if windows is None:
            return step.is_noted
        in_trace = bool(step.window) and windows.thread != 0 and windows.number == step.window
        if not in_trace and not (step.is_noted and self.thread.noting):
            return False
        return self._is_planned((step.phase, step.function))

    # The program calls a module, not one of its modules another

    def begins(self, module: Any, entry: Entry, args: Any) -> None:
        """The program is about to call a module."""
        thread = self.thread
        thread.counts = False
        if self.is_building or thread.fetching or self.trail.is_open() or not self._is_step(module, entry):
            return
        thread.counts = True
        root = entry.root
        if self._root is not root.module:
            self._root, self._alone = root.module, 0
        self._alone += 1
        if not thread.optimizing:
            thread.trains = self.has_optimizer and module.training and self.torch.is_grad_enabled()
            thread.steps.calls(module, entry, thread.trains, lambda: self._storages(args))
        if root.qualified not in self._looked:
            self._looked.add(root.qualified)
            self.look = Look(self, root)
            for compiler in self.names.compilers:
                self._warn_compiled(compiler)

    def ends(self, module: Any, args: Any, rest: Any) -> None:
        """The program has called a module."""
        thread = self.thread
        if not thread.counts:
            return
        thread.counts = False
        given = (*args, *rest[0].values()) if len(rest) == 2 else args
        if not given and rest and isinstance(rest[-1], dict):
            # Old versions do not say what was given by name; what comes out serves as well.
            given = tuple(rest[-1].values())
        if thread.optimizing:
            thread.steps.called_by_optimizer(module, self._samples(given))
        else:
            result = rest[-1] if rest else None
            made = [result] if isinstance(result, self.torch.Tensor) else list(self._tensors((result,)))
            graph = self._graph(made)
            trains = thread.trains and (graph is not None or not made)
            thread.steps.called(module, self._samples(given), trains, graph, lambda: self._kept(given, made))
        look, self.look = self.look, None
        if look is not None:
            guarded(look.finish)

    def _warn_compiled(self, compiler: str) -> None:
        from . import compilation

        compilation.warn(self, compiler)

    def is_worker(self) -> bool:
        """Whether this process is a worker of a data loader."""
        return self._worker is not None and self._worker._worker_info is not None

    def _is_step(self, module: Any, entry: Entry) -> bool:
        """Whether a call of this module by the program can be a step."""
        if entry.root is self.names.data:
            return False
        is_model = entry.is_model
        if is_model is None:
            is_model = entry.is_model = self._is_model(module)
        if is_model is None:
            # Without parameters anywhere, this is all that the program has.
            is_model = not self.has_parameters
        return is_model and not self.is_worker() and "_is_replica" not in module.__dict__

    def _is_model(self, module: Any) -> Optional[bool]:
        """Whether a module is a model: it has parameters, and is no loss; ``None`` if the program has to decide."""
        if isinstance(module, self._loss):
            return False
        if next(module.parameters(), None) is not None:
            return True
        if any("quantized" in type(part).__module__ for part in module.modules()):
            # Its parameters are packed into something else.
            return True
        kind = type(module)
        if kind.__name__.endswith("Loss") or "transforms" in kind.__module__:
            return False
        return None

    def last_root(self) -> Optional[Entry]:
        """The model that was called last, if it is still there."""
        model = self._root() if self._root is not None else None
        return self.names.entries.get(id(model)) if model is not None else None

    def _tensors(self, values: Any) -> Iterator[Any]:
        """The first tensors among some values, and among what these hold."""
        tensor, found = self.torch.Tensor, 0
        for value in values:
            items = value if isinstance(value, (list, tuple)) else value.values() if isinstance(value, dict) else (value,)
            for item in items:
                if isinstance(item, tensor):
                    yield item
                    found += 1
                    if found >= _TENSORS:
                        return

    def _storages(self, values: Any) -> set[int]:
        """Which memory tensors have; views of a tensor have that tensor's."""
        storages = set()
        for tensor in self._tensors(values):
            try:
                storages.add(tensor.untyped_storage()._cdata)
            except (NotImplementedError, RuntimeError):
                pass  # Some tensors have none.
        return storages

    def _kept(self, given: Any, made: list[Any]) -> list[tuple[Any, bool]]:
        """Weak references to the memory of what a call took and made."""
        kept: list[tuple[Any, bool]] = []
        if self._alone > _ALONE:
            return kept
        for tensors, is_made in ((self._tensors(given), False), (made, True)):
            for tensor in tensors:
                try:
                    kept.append((self._weak(tensor.untyped_storage()), is_made))
                except (NotImplementedError, RuntimeError):
                    pass
        return kept

    def _graph(self, made: list[Any]) -> Any:
        """Something that is alive as long as gradients can be computed from tensors; ``None`` if that cannot be."""
        node = next((tensor.grad_fn for tensor in made if tensor.requires_grad), None)
        if node is None or self.trail.is_transformed():
            return None if node is None else type(self)._lives
        try:
            mark = node.metadata["jouletree"] = _Mark()
        except (AttributeError, RuntimeError, TypeError):
            return type(self)._lives
        return weakref.ref(mark)

    @staticmethod
    def _lives() -> bool:
        """A graph of which it is not known how long it lives."""
        return True

    def _samples(self, given: Any) -> Optional[int]:
        """How many samples a call was given: the first dimension of the first tensor, or the length of a list."""
        tensor = self.torch.Tensor
        for value in given:
            if isinstance(value, list) and value and not self._are_inputs(value):
                return len(value)
            if isinstance(value, (list, tuple)) and value:
                value = value[0]
            if isinstance(value, tensor) and value.dim() > 0:
                return int(value.shape[0])
        return None

    def _are_inputs(self, values: list[Any]) -> bool:
        """Whether a list holds several inputs, each with all samples, rather than a sample in each of its items."""
        tensor = self.torch.Tensor
        if not all(isinstance(value, tensor) and value.dim() > 0 for value in values):
            return not any(isinstance(value, (tensor, dict, str)) for value in values)
        # An image has three dimensions: channels, height and width.
        return values[0].dim() != 3 and len({int(value.shape[0]) for value in values}) == 1

    # Spans that are not modules

    def in_trace(self) -> bool:
        """Whether operations of this thread are being recorded."""
        return self.windows is not None and self.windows.thread == self.thread.ident

    def ranged(self, name: str, passed: Optional[str], action: Callable[[], Any]) -> Any:
        """Does something of the program's and marks it in the trace; notes a span of a pass, if one is given."""
        thread = self.thread
        if not self.in_trace():
            return self.spanned(name, name, passed, action) if passed is not None else action()
        assert self.windows is not None
        span = self.windows.range("jouletree::" + name)
        span.__enter__()
        thread.ranges.append(span)
        try:
            return action()
        finally:
            # A window that was closed meanwhile has left it.
            if thread.ranges and thread.ranges[-1] is span:
                thread.ranges.pop()
                span.__exit__(None, None, None)

    def spanned(self, path: str, kind: str, passed: str, action: Callable[[], Any]) -> Any:
        """Does something of the program's and, where spans are noted, notes when it was done."""
        if not self.thread.noting:
            return action()
        start = time.time_ns()
        try:
            return action()
        finally:
            guarded(
                functools.partial(
                    self.session.ran_module, path, start, time.time_ns(), self.thread.lane, kind, passed
                )
            )
