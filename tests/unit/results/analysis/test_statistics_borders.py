"""The formulas at the borders of their arguments, and results worked out by hand."""

from collections.abc import Callable
from fractions import Fraction
from math import exp, sqrt

import pytest

from pytest_autoweb.results.analysis.statistics import (
    all_failures_late,
    cohen_kappa,
    detectable_by_mcnemar,
    detectable_mean,
    difference_error,
    difference_interval,
    effective_cases,
    holm,
    mcnemar,
    mcnemar_power,
    pass_at_k,
    pass_hat_k,
    percentile,
    rate_interval,
    ratio_interval,
    sign_flip,
    t_quantile,
    wilson,
)

REFUSED: list[Callable[[], object]] = [
    lambda: wilson(-0.1, 2),
    lambda: wilson(2.1, 2),
    lambda: wilson(1, 2, confidence=1),
    lambda: wilson(1, 2, confidence=0),
    lambda: effective_cases([0.5], []),
    lambda: effective_cases([0.5, 0.5], [2, 0]),
    lambda: effective_cases([-0.1], [2]),
    lambda: effective_cases([1.1], [2]),
    lambda: difference_interval([-1.1]),
    lambda: difference_interval([1.1, 0]),
    lambda: difference_interval([0], confidence=1),
    lambda: ratio_interval([1], []),
    lambda: ratio_interval([1, -0.1], [1, 2]),
    lambda: ratio_interval([1, 2], [1, -0.1]),
    lambda: t_quantile(0, 3),
    lambda: t_quantile(1, 3),
    lambda: t_quantile(0.6, 0),
    lambda: mcnemar(2, -1),
    lambda: mcnemar(-1, 2),
    lambda: all_failures_late(-1, 2, 1),
    lambda: all_failures_late(1, 2, -1),
    lambda: all_failures_late(1, 2, 3),
    lambda: holm([-0.1]),
    lambda: holm([1.1, 0.5]),
    lambda: pass_at_k(3, -1, 1),
    lambda: pass_at_k(3, 4, 1),
    lambda: pass_at_k(3, 2, 0),
    lambda: pass_at_k(3, 2, 4),
    lambda: pass_hat_k(3, 4, 1),
    lambda: pass_hat_k(3, 2, 0),
    lambda: detectable_by_mcnemar(-1, 0.5),
    lambda: detectable_by_mcnemar(10, -0.1),
    lambda: detectable_by_mcnemar(10, 1.1),
    lambda: detectable_by_mcnemar(10, 0.5, alpha=0),
    lambda: detectable_by_mcnemar(10, 0.5, alpha=1),
    lambda: mcnemar_power(10, 0.2, 0.3),
    lambda: mcnemar_power(10, 0.2, -0.1),
    lambda: mcnemar_power(10, 1.1, 0.3),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_lies_outside_of_its_range_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match=r"needs|must"):
        REFUSED[number]()


def test_what_lies_on_the_border_of_its_range_is_not() -> None:
    assert wilson(0, 0) is None
    assert effective_cases([0, 1], [1, 1]) == 2
    assert effective_cases([], []) == 0
    assert t_quantile(0.5, 1) == pytest.approx(0, abs=1e-12)
    assert (mcnemar(0, 1), mcnemar(1, 0), mcnemar(0, 2), mcnemar(1, 7)) == (1, 1, 0.5, 18 / 256)
    assert (all_failures_late(0, 0, 0), all_failures_late(0, 1, 1)) == (1, 1)
    assert (all_failures_late(1, 1, 1), all_failures_late(2, 2, 2)) == (1 / 2, 1 / 6)
    assert (holm([0, 1]), holm([1])) == ([0, 1], [1])
    assert (pass_at_k(3, 0, 3), pass_at_k(3, 3, 1)) == (0, 1)
    assert pass_at_k(3, 1, 1) == pytest.approx(1 / 3)
    assert (pass_hat_k(3, 3, 3), pass_hat_k(3, 2, 2), pass_hat_k(3, 0, 1)) == (1, 1 / 3, 0)
    assert mcnemar_power(10, 0, 0) == 0
    assert mcnemar_power(10, 1, 1) == 1


def test_the_interval_of_a_rate_is_closed_where_nothing_else_is_possible() -> None:
    none, every = wilson(0, 10), wilson(10, 10)
    assert none is not None
    assert every is not None

    z = 1.959963984540054
    assert (none.low, every.high) == (0, 1)
    assert none.high == pytest.approx(z * z / (10 + z * z))
    assert every.low == pytest.approx(10 / (10 + z * z))


def test_the_interval_of_one_case_has_its_rate_within() -> None:
    found = wilson(0.5, 1)

    assert found is not None
    assert (found.low, found.high) == pytest.approx((0.0546, 0.9454), abs=1e-4)


def test_repeats_that_say_nothing_new_count_as_one() -> None:
    # Equal means: the two added cases alone make the variance, 1/3 at a mean of 1/2.
    assert effective_cases([0.5, 0.5], [2, 2]) == pytest.approx(2 * 0.25 / (1 / 6))
    assert effective_cases([1.0, 0.0, 1.0], [5, 5, 5]) == 3
    assert effective_cases([0.5] * 20, [2] * 20) == 40
    assert effective_cases([0.5] * 20, [2] * 10 + [1] * 10) == pytest.approx(400 / 15)
    assert effective_cases([0.5, 1.0], [1, 1]) == 2
    assert rate_interval([0.5], [1]) == wilson(0.5, 1)


def test_the_interval_of_a_difference_ends_at_one() -> None:
    won, lost = difference_interval([1.0, 1.0]), difference_interval([-1.0, -1.0])
    assert won is not None
    assert lost is not None

    # (2 of 4; the spread of 1, 1, -1, 1 about 0.5)
    low = 0.5 - 1.959963984540054 * sqrt(0.75 / 4)
    assert (won.low, won.high) == pytest.approx((low, 1.0))
    assert (lost.low, lost.high) == pytest.approx((-1.0, -low))
    assert difference_error([1.0, 1.0]) == pytest.approx(sqrt(0.75 / 4))
    assert difference_error([]) == pytest.approx(sqrt(1 / 2))


def test_the_interval_of_a_ratio_worked_out_by_hand() -> None:
    found = ratio_interval([1, 3], [2, 2])

    # 1/2 - 2/2 and 3/2 - 2/2: their deviation is sqrt(1/2); t with one degree is 12.706.
    assert found is not None
    reach = 12.706204736432095 * sqrt(0.5) / sqrt(2)
    assert (found.low, found.high) == pytest.approx((exp(-reach), exp(reach)))
    wide = ratio_interval([1e-9, 1], [1, 1e-9], confidence=0.9999)
    assert wide is not None
    assert (wide.low, wide.high) == pytest.approx((exp(-300), exp(300)))
    assert ratio_interval([1], [1]) is None
    assert ratio_interval([0, 0], [1, 1]) is None
    assert ratio_interval([1, 1], [0, 0]) is None
    assert ratio_interval([0, 2], [2, 0]) is not None
    equal = ratio_interval([1, 2], [2, 4])
    assert equal is not None
    assert (equal.low, equal.high) == (2, 2)


@pytest.mark.parametrize(
    ("probability", "df", "quantile"),
    [
        (0.75, 1, 1.0),
        (0.975, 1, 12.706204736432095),
        (0.025, 1, -12.706204736432095),
        (0.975, 2, 4.302652729911275),
        (0.975, 3, 3.182446305284263),
        (0.9, 4, 1.5332062740589438),
        (0.999, 5, 5.893429531356008),
        (0.9, 6, 1.4397557472651476),
    ],
)
def test_quantiles_of_student_are_those_of_the_tables(
    probability: float, df: int, quantile: float
) -> None:
    assert t_quantile(probability, df) == pytest.approx(quantile, rel=1e-9)


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([1], 1),
        ([0, 0], 1),
        ([1, -1], 1),
        ([1, 1], 0.5),
        ([1, 1, 0, 1, 1, 1, 1], 2 / 64),
        ([2, 1], 0.5),
        ([2, -1], 1),
        ([3, 3, -1], 0.5),
        ([Fraction(1, 2), Fraction(1, 3), Fraction(-1, 6)], 0.5),
        ([10, 10, 10], 0.25),
    ],
)
def test_sign_flips_counted_by_hand(differences: list[Fraction], p: float) -> None:
    assert sign_flip([Fraction(each) for each in differences]) == (p, True)


def test_flips_that_are_drawn_count_what_was_observed_among_them() -> None:
    far = [Fraction(1_000_003 + number, 999_983) for number in range(30)]

    found = sign_flip(far)

    # No draw of 9999 reaches it, so it is one of 10,000.
    assert found == (0.0001, False)
    mixed = [each if number % 2 else -each for number, each in enumerate(far)]
    first, again, other = sign_flip(mixed), sign_flip(mixed), sign_flip(mixed, seed=1)
    assert first == again
    assert first.p > 0.8
    assert not other.exact


def test_corrected_values_never_fall() -> None:
    assert holm([0.01, 0.04, 0.03, 0.02]) == pytest.approx([0.04, 0.06, 0.06, 0.06])
    assert holm([0.5, 0.4]) == [0.8, 0.8]
    assert holm([0.6, 0.6]) == [1, 1]
    assert holm([0.2, 0.001, 0.2]) == pytest.approx([0.4, 0.003, 0.4])


def test_agreement_worked_out_by_hand() -> None:
    pairs = [("p", "p")] * 4 + [("p", "f")] * 1 + [("f", "p")] * 2 + [("f", "f")] * 3

    # Observed 0.7; by chance 0.5 * 0.6 + 0.5 * 0.4 = 0.5.
    assert cohen_kappa(pairs) == pytest.approx(0.4)
    assert cohen_kappa([("p", "p"), ("p", "f")]) == 0


def test_percentiles_worked_out_by_hand() -> None:
    assert percentile([3, 1, 2], 0) == 1
    assert percentile([3, 1, 2], 1) == 3
    assert percentile([3, 1, 2], 0.25) == 1.5
    assert percentile([0, 10], 0.3) == 3


@pytest.mark.parametrize(
    ("n", "discordant"),
    [(6, 0.0), (8, 0.0), (8, 1.0), (25, 0.3), (60, 0.2), (60, 0.5), (140, 0.05), (400, 0.9)],
)
def test_a_thousandth_less_is_not_detectable(n: int, discordant: float) -> None:
    least = detectable_by_mcnemar(n, discordant)

    assert least is not None
    less = round(least - 0.001, 3)
    assert mcnemar_power(n, max(discordant, least), least) >= 0.8
    assert mcnemar_power(n, max(discordant, less), less) < 0.8


def test_six_cases_detect_hardly_less_than_all() -> None:
    # All six must differ, and the same way: x ** 6 >= 0.8 from 0.9635 on.
    assert detectable_by_mcnemar(6, 0.0) == 0.964
    assert detectable_by_mcnemar(5, 1.0) is None


def test_the_power_of_six_cases_worked_out_by_hand() -> None:
    # All six differ (0.8 ** 6), and all for the better side (three of four).
    assert mcnemar_power(6, 0.8, 0.4) == pytest.approx((0.8 * 0.75) ** 6)
    assert mcnemar_power(6, 1.0, 1.0) == 1
    # A level that lets one of nine go against the rest: 2 * 10 / 512 = 0.039.
    nine = 0.75**9 + 9 * 0.25 * 0.75**8
    assert mcnemar_power(9, 1.0, 0.5) == pytest.approx(nine)
    assert mcnemar_power(9, 1.0, 0.5, alpha=20 / 512) == pytest.approx(nine)
    assert mcnemar_power(9, 1.0, 0.5, alpha=19 / 512) == pytest.approx(0.75**9)


def test_a_mean_is_detectable_up_to_one() -> None:
    error = difference_error([0.0] * 6)

    assert detectable_mean([0.0] * 6) == pytest.approx((2.570581835636314 + 0.919543780236) * error)
    assert detectable_mean([0.0] * 5) is None
    assert detectable_mean([1.0, -1.0] * 3) is None
