"""Claims, by the command that measures them: two small files each.

`KIND/NAME.yaml` says what is claimed and how its figure is labelled, in the fields of
`Claim` in ../claim.py. `KIND/NAME.py`, or the file that `module` names, holds the code:
what is measured, and where needed its demands, table and figure. ../registry.py lists
them all; `benchmarks/results/KIND-NAME.json` keeps a result (of evidence `NAME.json`).
"""
