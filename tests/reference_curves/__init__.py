"""Reference curves, each with a name: an independent slow evaluator, and a text baseline and a picture of each curve.

`python -m tests.reference_curves.regenerate` (in the project's root) rewrites baselines and pictures from the slow
evaluator alone; read the diff before committing it.
"""
