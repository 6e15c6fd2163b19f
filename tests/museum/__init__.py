"""A museum of named curves: an independent slow evaluator, text baselines, and a picture beside each.

`python -m tests.museum.regenerate` (in the project's root) writes baselines and pictures anew, from the slow
evaluator alone; read the diff before committing it.
"""
