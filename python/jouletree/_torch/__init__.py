"""How torch is recorded; ``jouletree.torch`` is what others use."""
