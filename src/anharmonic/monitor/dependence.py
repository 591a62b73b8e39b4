"""How far apart scores must be to be independent, from a reference in its own order.

Three looks at the reference's ranks, and at their distance from the middle (a spread that comes
and goes leaves the ranks themselves uncorrelated):

1. an autoregression, its order by BIC, says how long a score is remembered: the correlation time
   τ = S(0)/variance, S being its spectrum;
2. slow change that this does not explain: the first K ordinates of the periodogram, divided by that
   spectrum, lie above the others (a likelihood ratio, for the best K), or a stretch of the scores
   (where nothing else was found, of their own values too) stands at another level than the rest;
3. single ordinates far above the rest (Fisher, 1929) are a cycle.

Where slow change or a cycle alone explains the scores better than memory does, by BIC, that holds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_toeplitz
from scipy.signal import lfilter

from anharmonic._core.protocols import Floats, Integers
from anharmonic._core.randomness import generator
from anharmonic._core.streams import Stream

__all__ = ["FEWEST", "Dependence", "dependence_of", "why_no_promise"]

FEWEST = 30
"""Blocks that a reference must hold: from fewer no bound says anything."""
WANTED, LEAST = 3.0, 1.0
"""Block length in correlation times: as wanted, and the least, of an upper bound on that time.
Means of neighbouring blocks then correlate by less than 0.1 and 0.2: see benchmarks.dependence."""
ENOUGH_BLOCKS = 60
"""Blocks from which on a reference holds enough for the wanted length."""
LONGEST_ORDER = 8
"""The longest autoregression tried."""
QUANTILE = 1.282
"""Standard errors of the upper bound on the correlation time: one side, 90%."""
SLOW_RATIO = 6.4
"""Log likelihood ratio from which on slow change is real: under independence the best K reaches
it in 0.3% of references of 200 to 20,000 scores."""
CHANCE, SPREAD_CHANCE = 0.003, 0.001
"""That independent scores are taken for slow ones, and the same again for a cycle and for
a stretch at another level: by their ranks, and by the ranks' distance from the middle."""
OUTLIERS = 0.01
"""Share of scores at either end that count as outliers."""
MOST_LINES = 16
"""Lines that are looked for in a periodogram."""
CELLS, SHORTEST, PERMUTATIONS, WORTH_A_LOOK = 512, 20, 999, 3.7
"""Sums that a reference is cut into to look for a stretch at another level; the shortest one's
share of them; how often they are permuted, and how far, in standard errors, the best stretch must
stand out for that."""


class Dependence(NamedTuple):
    """What a reference's own order says of its scores.

    `time` is the correlation time: how many scores weigh as one. `cycle` is the length of the
    slowest cycle and `slow` the scale of change that short memory does not explain, 0 if there
    is none. `wanted` scores in a block are independent of the next; with fewer than `least`
    neighbouring blocks are not.
    """

    time: float
    cycle: int
    slow: int
    wanted: int
    least: int

    @property
    def needed(self) -> int:
        """The scores that a reference like this should have."""
        return FEWEST * self.wanted

    def block(self, count: int) -> int:
        """Scores to average, of a reference of `count`: as wanted, or what fits if that is enough.

        More than a reference can hold `FEWEST` times where nothing that fits is enough.
        """
        return max(self.least, min(self.wanted, count // ENOUGH_BLOCKS))

    def __str__(self) -> str:
        if self.cycle >= max(self.slow, self.time):
            return f"scores come round again every {self.cycle:,}"
        if self.slow > self.time:
            return f"scores change slowly, over some {self.slow:,} of them"
        return f"a score is remembered for about {self.time:,.0f}"


class CorrelationTime(NamedTuple):
    """A correlation time, in scores, and an upper bound on it."""

    time: float
    upper: float


def dependence_of(values: Floats, seed: int = 0) -> Dependence:
    """How scores depend on each other, in the order in which they are given.

    >>> dependence_of(np.random.default_rng(0).normal(size=2000)).block(2000)
    1
    >>> dependence_of(np.tile(np.arange(48.0), 100)).cycle
    48
    """
    from scipy.stats import rankdata

    # Ranks have every moment, whatever the scores' tails.
    ranks = rankdata(values)
    ranks -= ranks.mean()
    views = [
        _dependence_in(ranks, CHANCE, seed),
        _dependence_in(np.abs(ranks), SPREAD_CHANCE, seed),
    ]
    # The worse of both, field by field.
    dependence = Dependence(*(max(field) for field in zip(*views, strict=True)))
    if dependence.wanted > 1 or len(values) < FEWEST:
        return dependence
    # A factor between levels shows better in scores than in their ranks, once outliers are cut.
    winsorised = np.clip(values, *np.quantile(values, (OUTLIERS, 1 - OUTLIERS)))
    stretch = _stretch_length(winsorised - winsorised.mean(), CHANCE, seed)
    return dependence._replace(slow=3 * stretch, wanted=max(1, 3 * stretch), least=max(1, stretch))


def why_no_promise(depends: Dependence, count: int, block: int) -> str | None:
    """Why a reference of `count` scores in blocks can promise no rate of false alarms, if so.

    >>> why_no_promise(Dependence(9.0, 0, 0, 27, 12), 200, 12)
    'no rate of false alarms can be promised: a score is remembered for about 9 in the reference, \
which has 200: give at least 810 from a quiet time, in their own order'
    """
    # Of fewer scores than blocks there must be nothing is known, and bets say so themselves.
    if count < FEWEST or (block >= depends.least and count >= FEWEST * block):
        return None
    if block < depends.least and count >= FEWEST * depends.least:
        advice = f'give block="auto" or at least {depends.least:,}'
    else:
        advice = f"give at least {depends.needed:,} from a quiet time, in their own order"
    return (
        f"no rate of false alarms can be promised: {depends} in the reference, which has "
        f"{count:,}: {advice}"
    )


def _dependence_in(series: Floats, chance: float, seed: int) -> Dependence:
    """The dependence that one series (n,) shows by itself."""
    series = series - series.mean()
    count = len(series)
    # Too few, or all tied: nothing can be seen.
    if count < FEWEST or np.ptp(series) < 1e-9 * count:
        return Dependence(1.0, 0, 0, 1, 1)
    correlations = autocorrelations(series)
    coefficients, error = _autoregression(correlations, count)
    time, upper = _correlation_time(coefficients, error, correlations, count)
    # The autoregression's innovations, x_t − Σ φ_k x_{t−k}: white if memory explains everything.
    innovations = lfilter(np.append(1.0, -coefficients), [1.0], series)
    spectrum = _fit_spectrum(innovations, len(coefficients), chance)
    if len(coefficients):
        without_memory = _fit_spectrum(series, 0, chance)
        if without_memory.criterion < spectrum.criterion:
            # A slow level or a cycle by itself explains the scores better than a short memory does.
            spectrum, time, upper = without_memory, 1.0, 1.0
    level, stretch = spectrum.level, _stretch_length(spectrum.left, chance, seed)
    cycle = _period(series, min(spectrum.lines)) if spectrum.lines else 0
    slow = max(WANTED * level.time, 3.0 * stretch)
    wanted = max(WANTED * time if time > 1 else 1.0, slow)
    least = max(LEAST * upper if time > 1 else 1.0, LEAST * level.upper, stretch)
    # Whole cycles: their means do not follow the phase.
    unit = max(1, cycle)
    lengths = (unit * int(np.ceil(length / unit)) for length in (wanted, least))
    return Dependence(time, cycle, round(slow), *lengths)


def autocorrelations(series: Floats) -> Floats:
    """Of a series whose mean is 0, at lags 0 to a quarter of its length."""
    # Wiener and Khinchin, padded with zeros so that the correlation does not wrap around.
    size = 1 << (2 * len(series) - 1).bit_length()
    power = np.abs(np.fft.rfft(series, size)) ** 2
    lags = len(series) // 4 + 2
    return np.asarray(np.fft.irfft(power, size)[:lags] / (series @ series))


def _autoregression(correlations: Floats, count: int) -> tuple[Floats, float]:
    """Coefficients φ and the share of the variance that they leave, by Levinson and Durbin."""
    best = coefficients = np.empty(0)
    left = best_left = 1.0
    lowest = 0.0
    for order in range(1, min(LONGEST_ORDER, len(correlations) - 1) + 1):
        past = correlations[1:order]
        # The partial autocorrelation at this lag, which is also the new last coefficient.
        partial = (correlations[order] - coefficients @ past[::-1]) / left
        coefficients = np.append(coefficients - partial * coefficients[::-1], partial)
        left *= max(1 - partial**2, 1e-12)
        # BIC, n log σ² + p log n, against 0 for no memory at all.
        criterion = count * np.log(left) + order * np.log(count)
        if criterion < lowest:
            lowest, best, best_left = criterion, coefficients, left
    return best, best_left


def _correlation_time(
    coefficients: Floats, error: float, correlations: Floats, count: int
) -> CorrelationTime:
    """The correlation time error/(1 − Σφ)², at least 1, and an upper bound on it.

    That is the long-run variance over the variance, S(0)/γ₀, of an autoregression.
    """
    if not len(coefficients):
        return CorrelationTime(1.0, 1.0)
    ones = np.ones(len(coefficients))
    # Var Σφ = error · 1ᵀ R⁻¹ 1 / n, R being the correlations at lags below the order.
    variance = error * (ones @ solve_toeplitz(correlations[: len(ones)], ones)) / count
    gap = 1 - coefficients.sum()
    # With n scores a gap below 1/n does not differ from 0, a unit root.
    closest = max(gap - QUANTILE * np.sqrt(max(variance, 0.0)), 1 / count)
    time = max(1.0, error / max(gap, 1 / count) ** 2)
    return CorrelationTime(time, max(1.0, error / closest**2))


class SpectrumFit(NamedTuple):
    """What a periodogram shows.

    `lines` are ordinates that stand alone, counted from 1; `level` how long a slow level lasts, 0
    if there is none; `left` the series without them; `criterion` is BIC, in Whittle's likelihood.
    """

    lines: list[int]
    level: CorrelationTime
    left: Floats
    criterion: float


def _fit_spectrum(series: Floats, parameters: int, chance: float) -> SpectrumFit:
    """Lines and a slow level in what an autoregression of so many `parameters` has left.

    If that explains everything, the ordinates are exponentials, independent and alike.
    Whichever is the likelier, a line or a slow level, is taken out first.
    """
    count = len(series)
    waves = np.fft.rfft(series)
    # Without frequencies 0 and 1/2, whose ordinates have another law; a view, so that what is
    # taken out here is gone from `waves` too.
    inner = waves[1 : (count + 1) // 2]
    lines: list[int] = []
    level, log_spectrum = CorrelationTime(0.0, 0.0), 0.0
    for _ in range(MOST_LINES):
        power = np.abs(inner) ** 2
        if power.sum() < 1e-20 * (series @ series) * count:
            break
        power /= power.mean()
        highest = int(np.argmax(power))
        line, step = float(power[highest]), _step_ratio(power)
        # x − 1 − log x is the log likelihood ratio of one ordinate x having a mean of its own.
        line_ratio = line - 1 - np.log(line)
        if not level.time and step > max(SLOW_RATIO - np.log(chance / CHANCE), line_ratio):
            level, spectrum = _fit_level(power, count)
            # Whitening: divided by the level's spectrum, the ordinates are alike again.
            inner /= np.sqrt(spectrum)
            log_spectrum = float(np.log(spectrum).sum())
        elif line > np.log(len(power) / chance):
            # The largest of m exponentials exceeds log(m/p) with chance p (Fisher, 1929).
            lines.append(highest + 1)
            # The neighbours go with it: a cycle between two ordinates leaks into both.
            inner[max(0, highest - 1) : highest + 2] = 0.0
        else:
            break
    # Whittle's −log likelihood is Σ log S + m log(mean of I/S); an autoregression's Σ log S is 0.
    rest = max(float(np.mean(np.abs(inner) ** 2)), 1e-20 * float(series @ series))
    deviance = log_spectrum + len(inner) * np.log(rest)
    # A line has a frequency, an amplitude and a phase; a level a height and a corner.
    parameters += 3 * len(lines) + 2 * bool(level.time)
    criterion = 2 * deviance + parameters * np.log(count)
    return SpectrumFit(lines, level, np.fft.irfft(waves, count), criterion)


def _step_ratio(power: Floats) -> float:
    """The log likelihood ratio of the first K ordinates standing above the rest, for the best K."""
    count = len(power)
    first = np.arange(1, count // 2 + 1)
    sums = np.cumsum(power)[: len(first)]
    # Means of the first K and of the rest, (K,); the mean of all is 1, so they add up to `count`.
    above, below = sums / first, (count - sums) / (count - first)
    # Exponentials of mean μ have log likelihood −log μ − 1 on average, those of mean 1 just −1.
    ratios = -first * np.log(np.maximum(above, 1e-12)) - (count - first) * np.log(
        np.maximum(below, 1e-12)
    )
    return float(np.max(ratios, where=above > 1, initial=0.0))


def _fit_level(power: Floats, count: int) -> tuple[CorrelationTime, Floats]:
    """How long a level lasts that is forgotten as exp(−t/T), and the spectrum with it.

    Its spectrum is 1 + a/(1 + (j/h)²) at ordinate j, h = n/(2πT); a and h have the highest
    likelihood (Whittle, 1953). Its correlation time is 2T = n/(πh).
    """
    ordinates = np.arange(1, len(power) + 1)
    # Slow change shows in the low ordinates alone.
    low = ordinates[: max(64, len(power) // 4)]
    corners = np.geomspace(0.25, len(low) / 2, 40)
    heights = np.geomspace(0.5, 1000.0, 24)[:, None]
    # Whittle's log likelihood −Σ (I/S + log S) on a grid of h and a: (corners, heights).
    likelihoods = np.empty((len(corners), len(heights)))
    for number, corner in enumerate(corners):
        spectra = 1 + heights / (1 + (low / corner) ** 2)
        likelihoods[number] = -(power[: len(low)] / spectra + np.log(spectra)).sum(axis=1)
    likeliest, height = np.unravel_index(np.argmax(likelihoods), likelihoods.shape)
    corner = corners[likeliest]
    # The slowest corner whose likelihood is not refuted: χ² of 1, one side, 90%.
    slowest = corners[likelihoods.max(axis=1) > likelihoods.max() - QUANTILE**2 / 2][0]
    spectrum = 1 + heights[height] / (1 + (ordinates / corner) ** 2)
    return CorrelationTime(*(float(count / (np.pi * h)) for h in (corner, slowest))), spectrum


def _period(series: Floats, ordinate: int) -> int:
    """The period about n/ordinate that fits best: the true frequency lies between ordinates."""
    frequencies = (ordinate + np.linspace(-0.5, 0.5, 21)) / len(series)
    # The Fourier sum between the ordinates: (frequencies, n) times (n,).
    waves = np.exp(-2j * np.pi * np.outer(frequencies, np.arange(len(series))))
    return int(np.rint(1 / frequencies[np.argmax(np.abs(waves @ series))]))


def _stretch_length(left: Floats, chance: float, seed: int) -> int:
    """The length of a stretch at another level than the rest, 0 if there is none.

    Sums of equally many scores are exchangeable if these are independent, so that their
    permutations say, for any law, how far the best stretch would stand out.
    """
    size = -(-len(left) // CELLS)
    cells = left[: len(left) // size * size].reshape(-1, size).sum(axis=1)
    cells -= cells.mean()
    lengths = np.unique(np.geomspace(len(cells) // SHORTEST, len(cells) // 2, 12).astype(int))
    scans = _scan_statistics(cells[None], lengths)[:, 0]
    # Permuting is slow: only what stands out by itself is worth it.
    if scans.max() < WORTH_A_LOOK * cells.std():
        return 0
    random = generator(seed, Stream.DEPENDENCE)
    permuted = random.permuted(np.tile(cells, (PERMUTATIONS, 1)), axis=1)
    usual = _scan_statistics(permuted, lengths).max(axis=0)
    # A permutation test's p-value; the order that came counts as one of the permutations.
    p_value = (1 + np.sum(usual >= scans.max())) / (1 + PERMUTATIONS)
    return size * int(lengths[np.argmax(scans)]) if p_value <= chance else 0


def _scan_statistics(cells: Floats, lengths: Integers) -> Floats:
    """How far the best stretch of each length stands out, (lengths, series), of (series, cells)."""
    count = cells.shape[1]
    sums = np.concatenate((np.zeros((len(cells), 1)), np.cumsum(cells, axis=1)), axis=1)
    # A sum of k of n cells with mean 0, without replacement, has variance k·(1 − k/n)·σ².
    return np.stack(
        [
            np.abs(sums[:, length:] - sums[:, :-length]).max(axis=1)
            / np.sqrt(length * (1 - length / count))
            for length in lengths.tolist()
        ]
    )
