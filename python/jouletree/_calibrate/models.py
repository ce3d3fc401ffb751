"""The models that are calibrated: those that jouletree knows by name, and those of the user's own."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional


#: Models by name: all sizes of input have one.
_made: dict[str, Any] = {}


class Unavailable(Exception):
    """A model that cannot be made here; the text says what to do."""


class Subject:
    """A model and what it is called with."""

    def __init__(
        self, name: str, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], size: tuple[int, int]
    ) -> None:
        self.name = name
        self.model = model
        self.args = args
        self.kwargs = kwargs
        #: Samples, and tokens of each.
        self.batch, self.sequence = size


def sizes(name: str, batches: list[int], sequences: list[int]) -> list[tuple[int, int]]:
    """The sizes at which a model is measured: images have no tokens."""
    return [(batch, sequence) for batch in batches for sequence in (sequences[:1] if name in _IMAGES else sequences)]


def made(name: str, batch: int, sequence: int, choice: dict[str, Optional[int]], device: str) -> Subject:
    """The model of a name, or of a function ``file.py:function`` or ``module:function``, on a device."""
    import torch

    torch.manual_seed(0)
    if ":" in name:
        subject = _own(name, batch, sequence)
    elif name in _TEXTS:
        subject = _text(name, batch, sequence, choice)
    elif name in _IMAGES:
        subject = _image(name, batch)
    else:
        known = ", ".join([*_TEXTS, *_IMAGES])
        raise Unavailable(f"there is no model {name!r}; there are {known}, or give file.py:function")
    subject.model.eval().to(device)
    subject.args = tuple(_moved(value, device) for value in subject.args)
    subject.kwargs = {key: _moved(value, device) for key, value in subject.kwargs.items()}
    return subject


def _text(name: str, batch: int, sequence: int, choice: dict[str, Optional[int]]) -> Subject:
    import torch

    try:
        transformers = importlib.import_module("transformers")
    except ImportError:
        raise Unavailable(f"{name} is made by transformers, which is not installed: pip install transformers") from None
    config_name, model_name, fields = _TEXTS[name]
    settings = {}
    for key, field in fields.items():
        value = choice.get(key)
        if value is not None:
            settings[field] = value
    if choice.get("hidden") is not None:
        hidden = choice["hidden"]
        assert hidden is not None
        settings.setdefault(fields["heads"], max(hidden // 64, 1))
        if "inner" in fields:
            settings[fields["inner"]] = 4 * hidden
    if name not in _made:
        config = getattr(transformers, config_name)(**settings)
        # A cache would grow with every repetition.
        config.use_cache = False
        _made[name] = getattr(transformers, model_name)(config)
    model = _made[name]
    tokens = torch.randint(4, model.config.vocab_size, (batch, sequence))
    return Subject(name, model, (), {"input_ids": tokens}, (batch, sequence))


def _image(name: str, batch: int) -> Subject:
    import torch

    try:
        models = importlib.import_module("torchvision.models")
    except ImportError:
        raise Unavailable(f"{name} is made by torchvision, which is not installed: pip install torchvision") from None
    if name not in _made:
        _made[name] = getattr(models, name)(weights=None)
    return Subject(name, _made[name], (torch.rand(batch, 3, 224, 224),), {}, (batch, 1))


def _own(name: str, batch: int, sequence: int) -> Subject:
    """What a function of the user's makes: a model and its inputs (a tensor, a tuple of them, or a dict)."""
    place, _, function_name = name.rpartition(":")
    sys.path.insert(0, os.getcwd())
    if place.endswith(".py"):
        spec = importlib.util.spec_from_file_location("jouletree_calibrated", place)
        if spec is None or spec.loader is None or not os.path.exists(place):
            raise Unavailable(f"{place} cannot be read")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(place)
    function = getattr(module, function_name, None)
    if function is None:
        raise Unavailable(f"{place} has no function {function_name!r}")
    result = function(batch, sequence)
    if not (isinstance(result, tuple) and len(result) == 2):
        raise Unavailable(f"{name} must return a model and its inputs")
    model, inputs = result
    args = inputs if isinstance(inputs, tuple) else () if isinstance(inputs, dict) else (inputs,)
    kwargs = inputs if isinstance(inputs, dict) else {}
    return Subject(function_name, model, args, kwargs, (batch, sequence))


def _moved(value: Any, device: str) -> Any:
    return value.to(device) if hasattr(value, "to") else value


_BERT = {
    "layers": "num_hidden_layers",
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "inner": "intermediate_size",
}
_GPT2 = {"layers": "n_layer", "hidden": "n_embd", "heads": "n_head"}
_DISTILBERT = {"layers": "n_layers", "hidden": "dim", "heads": "n_heads", "inner": "hidden_dim"}

#: Configuration, model, and what they call the choices that users have. None of them is downloaded: energy does not
#: depend on what weights were learned.
_TEXTS = {
    "bert": ("BertConfig", "BertModel", _BERT),
    "roberta": ("RobertaConfig", "RobertaModel", _BERT),
    "distilbert": ("DistilBertConfig", "DistilBertModel", _DISTILBERT),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", _GPT2),
}
_IMAGES = ("alexnet", "vgg11", "vgg13", "vgg16")
