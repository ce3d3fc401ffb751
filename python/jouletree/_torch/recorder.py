"""Everything that is recorded of torch in this process, and how it is put in place."""

from __future__ import annotations

import functools
import time
import weakref
from .._session import guarded
from . import hooks
from .backward import Trail
from .look import Look
from .names import Names
from .profiler import Windows, is_possible
from .threads import Thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional
    from .._session import Session
    from .names import Entry
    from .steps import Steps

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
        self.windows: Optional[Windows] = Windows(torch, session) if session.level == "op" else None
        self.trail = Trail(self)
        #: Notes shapes and data flow while a model runs for the first time.
        self.look: Optional[Look] = None
        #: Whether a library calls modules only in order to build a model of them.
        self.is_building = False
        self.has_trained = False
        self.has_optimizer = False
        self.all_steps: list[Steps] = []
        self.thread = Thread(self)
        self._leader: Any = None
        self._looked: set[str] = set()
        self._is_everywhere = False
        self._handles: list[Any] = []
        self.entering, self.leaving = (
            hooks.of_operations(self) if self.windows is not None else hooks.of_modules(self)
        )

    def install(self, everywhere: bool) -> None:
        """Puts hooks and wrappers in place; hooks of modules everywhere, or in attached models only."""
        from . import uncompiled, wrappers

        session, modules = self.session, self.torch.nn.modules.module
        session.uses("torch", str(self.torch.__version__))
        put = self._handles.append
        put(modules.register_module_module_registration_hook(self.names.put))
        if everywhere:
            import warnings

            put(modules.register_module_forward_pre_hook(self.entering))
            try:
                put(modules.register_module_forward_hook(self.leaving, with_kwargs=True, always_call=True))
            except TypeError:
                put(modules.register_module_forward_hook(self.leaving, always_call=True))
            warnings.filterwarnings("ignore", message="Using `torch.compile\\(module\\)` when there are global hooks")
            self._is_everywhere = True
        wrappers.install(self)
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
        self.all_steps.clear()
        self.thread = Thread(self)
        self.look = None

    # The program calls a module, not one of its modules another

    def begins(self, module: Any, entry: Entry) -> None:
        """The program is about to call a module."""
        if self.trail.is_open() or self.is_building:
            return
        is_training = self.has_optimizer and module.training and self.torch.is_grad_enabled()
        self.thread.steps.calls(module, entry, is_training)
        root = entry.root
        if root.qualified not in self._looked:
            self._looked.add(root.qualified)
            self.look = Look(self, root)

    def ends(self, module: Any, entry: Entry, args: Any, rest: Any) -> None:
        """The program has called a module."""
        if self.trail.is_open() or self.is_building:
            return
        given = (*args, *rest[0].values()) if len(rest) == 2 else args
        if not given and rest and isinstance(rest[-1], dict):
            # Old versions do not tell what was given by name; what comes out tells as much.
            given = tuple(rest[-1].values())
        self.thread.steps.called(module, entry, self._samples(given))
        look, self.look = self.look, None
        if look is not None:
            guarded(look.finish)

    def _samples(self, given: Any) -> Optional[int]:
        """How many samples a call was given: the first dimension of the first tensor that has one."""
        tensor = self.torch.Tensor
        for value in given:
            if isinstance(value, (list, tuple)) and value:
                value = value[0]
            if isinstance(value, tensor) and value.dim() > 0:
                return int(value.shape[0])
        return None

    # Optimizers

    def leads(self, optimizer: Any) -> bool:
        """Whether this optimizer is the one that ends steps."""
        leader = self._leader() if self._leader is not None else None
        if leader is None:
            self.lead(optimizer)
            return True
        return leader is optimizer

    def lead(self, optimizer: Any) -> None:
        """Has an optimizer end steps from now on."""
        self._leader = weakref.ref(optimizer)

    # Spans that are not modules

    def spanned(self, path: str, kind: str, passed: str, action: Callable[[], Any]) -> Any:
        """Does something of the program's and, at level `module`, notes when it was done."""
        if self.windows is not None:
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
