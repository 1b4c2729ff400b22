"""Run mutmut without changes to the text of strings, and with a sample of each module's changes.

How a message is worded is no verdict. The sample is drawn before anything is written, so that the
changed modules stay small: with all changes in it, a module has a hundred times its lines.
"""

import os
from pathlib import Path
from random import Random
from typing import Any

from mutmut.__main__ import cli
from mutmut.mutation import file_mutation, mutators

PER_MODULE = int(os.environ.get("AUTOWEB_MUTANTS_PER_MODULE", "0"))
"""How many changes of a module are tried; 0: all of them."""
SEED = os.environ.get("AUTOWEB_MUTANTS_SEED", "1")

mutators.mutation_operators[:] = [
    (node, operator)
    for node, operator in mutators.mutation_operators
    if operator is not mutators.operator_string
]
_all_of_them = file_mutation.create_mutations


def sampled(filename: str, *rest: Any) -> Any:
    """The changes of one module, at most `PER_MODULE`, the same for the same seed."""
    module, mutations, *ignored = _all_of_them(filename, *rest)
    inside = [each for each in mutations if each.contained_by_top_level_function]
    if 0 < PER_MODULE < len(inside):
        drawn = Random(f"{SEED} {Path(filename).name}").sample(range(len(inside)), PER_MODULE)
        inside = [inside[at] for at in sorted(drawn)]
    return module, inside, *ignored


file_mutation.create_mutations = sampled

if __name__ == "__main__":
    cli()
