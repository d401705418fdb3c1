"""How long the machines run: a sample in daily work, full counts under `make prove`.

The seed is fresh in every run, so that two runs look in two places, and it is printed, so that a
failure can be looked at again: `COVEN_SEED=… make test`.
"""

import os
import random
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

PROVE = os.environ.get("COVEN_PROVE") == "1"
SEED = int(os.environ.get("COVEN_SEED") or random.SystemRandom().randrange(2**32))
EXAMPLES_DEV, EXAMPLES_PROVE = 30, 500
_QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]

Function = TypeVar("Function", bound=Callable[..., Any])


def profile(*, dev: int = EXAMPLES_DEV, prove: int = EXAMPLES_PROVE, steps: int = 30) -> settings:
    """The settings of a machine or a property."""
    return settings(
        max_examples=prove if PROVE else dev,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=_QUIET,
    )


def seeded(function: Function) -> Function:
    """A property with the seed of this run."""
    return seed(SEED)(function)


def run(machine: type[RuleBasedStateMachine], chosen: settings, **known: Any) -> None:
    """Run a machine with the seed of this run; `known` is what every example finds in its class."""
    print(f"{machine.__name__}: COVEN_SEED={SEED}")
    started = seed(SEED)(type(machine.__name__, (machine,), known))
    run_state_machine_as_test(started, settings=chosen)
