"""Energy accounting for deep learning: where the joules of a training or an inference go.

Most programs need nothing of this package: ``jouletree run -- python train.py`` measures them as they are.
"""

from __future__ import annotations

__version__ = "0.1.0"
