"""Measures the nodes of models one by one, as ``jouletree calibrate`` asks for.

Every module of a model, and every operation that is a primitive of its own, is run alone and again and again on what it
was given inside the model. Runs under ``jouletree run``, whose recorder says what each repetition took.
"""
