"""Rederives the interpolants of Verner's methods and compares them with the coefficients in src/integrate.

    python3 crates/catena/scripts/interpolants.py verner6 verner9

Needs mpmath. The interpolant of a method with s stages (the derivative at the end is stage s) is built in two steps, each the
solution of least norm of linear order conditions, over the rooted trees t with |t| nodes, density γ(t) and elementary weights
φ_j(t) at the stages:

    extra stage at node c      Σ_j a_j φ_j(t) = c^|t| / γ(t)                for |t| ≤ p                          (1)
    dense output               Σ_i b_i(θ) φ_i(t) = θ^|t| / γ(t)             for |t| ≤ q, all θ                   (2)
    b_i(θ) = Hermite weight + θ² (1 − θ)² Σ_j d_ij θ^j                      (tableau.rs, eq. 4)

The files hold the coefficients of the method rounded to f64, fractions excepted. Those of verner6 are fractions: everything comes
back to 5e-15. For verner9 the stages come back to 3e-13 and the dense output, with coefficients up to 750, to 2e-9: so
much does the rounding change the solution of least norm. That the conditions hold is tested in tests/integrators.
"""

import re
import sys
from functools import cache
from pathlib import Path

from mpmath import mp, mpf

mp.dps = 60
SOURCE = Path(__file__).parent.parent / "src" / "integrate"

# order of the extra stages (1), order of the dense output (2), stages that neither uses, stages that (2) does not use
METHODS = {
    "verner6": (5, 6, {1, 2}, {1, 2, 4}),
    "verner9": (7, 8, {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}),
}


def block(text, name):
    """The nested list after `name: &[`, or after `name: …(&[`."""
    start = text.index("&[", re.search(rf"\b{name}:", text).end())
    depth, at = 0, start
    while True:
        depth += {"[": 1, "]": -1}.get(text[at], 0)
        at += 1
        if depth == 0 and text[at - 1] == "]":
            break
    rows = re.sub(r"\s", "", text[start:at]).replace("&", "")
    rows = re.sub(r"(-?[0-9][0-9.e+-]*)/([0-9.]+)", r"mpf('\1')/mpf('\2')", rows)
    rows = re.sub(r"(?<![\w'.])(-?[0-9][0-9.]*(?:e-?[0-9]+)?)(?![\w'.])", r"mpf('\1')", rows)
    return eval(rows, {"mpf": mpf})  # our own source


@cache
def trees(size):
    """Rooted trees of a size, as sorted tuples of sub-trees."""
    if size == 1:
        return [()]
    found = set()
    for tree in trees(size - 1):
        found.update(with_leaf(tree))
    return sorted(found)


def with_leaf(tree):
    yield tuple(sorted(tree + ((),)))
    for k, branch in enumerate(tree):
        for grown in with_leaf(branch):
            yield tuple(sorted(tree[:k] + (grown,) + tree[k + 1 :]))


@cache
def size(tree):
    return 1 + sum(size(branch) for branch in tree)


@cache
def density(tree):
    product = size(tree)
    for branch in tree:
        product *= density(branch)
    return product


def weights(rows, up_to):
    """φ_j(t) of all trees with at most so many nodes, at every stage."""
    known = {(): [mpf(1)] * len(rows)}
    for n in range(2, up_to + 1):
        for tree in trees(n):
            values = [mpf(1)] * len(rows)
            for branch in tree:
                inner = known[branch]
                for i, row in enumerate(rows):
                    values[i] *= mp.fsum(a * x for a, x in zip(row, inner))
            known[tree] = values
    return known


def least_norm(conditions, unknowns):
    """Solution of least norm of the rows (coefficients, right-hand side), by the normal equations in 60 digits."""
    normal, right = mp.zeros(unknowns), mp.zeros(unknowns, 1)
    for coefficients, value in conditions:
        for i, a in coefficients.items():
            right[i] += a * value
            for j, b in coefficients.items():
                normal[i, j] += a * b
    values, vectors = mp.eigsy(normal)
    solution = mp.zeros(unknowns, 1)
    for k in range(unknowns):
        # what is below comes from the rounding of the coefficients
        if values[k] > mpf("1e-18") * max(values):
            along = mp.fsum(vectors[i, k] * right[i] for i in range(unknowns)) / values[k]
            for i in range(unknowns):
                solution[i] += along * vectors[i, k]
    worst = max(abs(mp.fsum(a * solution[i] for i, a in c.items()) - v) for c, v in conditions)
    return solution, worst


def derive(name):
    stage_order, dense_order, unused, undense = METHODS[name]
    text = (SOURCE / f"{name}.rs").read_text()
    text = text[text.index("static TABLEAU") :]
    step = block(text, "weights")
    rows = block(text, "stages") + [step]
    s = len(step)
    given_rows, given_dense = block(text, "extra_stages"), block(text, "dense")
    difference = mpf(0)
    for c, given in zip(block(text, "extra_nodes"), given_rows):
        known = weights(rows, stage_order)
        used = [j for j in range(len(rows)) if j not in unused]
        conditions = [
            ({k: values[j] for k, j in enumerate(used)}, c ** size(tree) / density(tree))
            for tree, values in known.items()
        ]
        solution, worst = least_norm(conditions, len(used))
        row = [mpf(0)] * len(rows)
        for k, j in enumerate(used):
            row[j] = solution[k]
        off = max(abs(a - b) for a, b in zip(row, given))
        print(f"{name}: stage at {mp.nstr(c, 6)}: conditions to {mp.nstr(worst, 2)}, differs by {mp.nstr(off, 2)}")
        difference = max(difference, off)
        rows.append(row)
    powers = len(given_dense[0])
    used = [i for i in range(len(rows)) if i not in undense]
    conditions = []
    for tree, values in weights(rows, dense_order).items():
        n = size(tree)
        # polynomial in θ that θ² (1 − θ)² Σ d must add to the Hermite weights
        missing = [mpf(0)] * (powers + 4)
        missing[n] += mpf(1) / density(tree)
        for i, value in enumerate(values):
            b = step[i] if i < s else mpf(0)
            left, end = mpf(i == 0) - b, 2 * b - mpf(i == 0) - mpf(i == s)
            # θ (b + (1 − θ)(left + θ end))
            for power, a in ((1, b + left), (2, end - left), (3, -end)):
                missing[power] -= a * value
        for power in range(powers + 4):
            coefficients = {}
            for k, i in enumerate(used):
                for j in range(powers):
                    shape = {2: 1, 3: -2, 4: 1}.get(power - j, 0)
                    if shape:
                        coefficients[k * powers + j] = shape * values[i]
            conditions.append((coefficients, missing[power]))
    solution, worst = least_norm(conditions, len(used) * powers)
    off = mpf(0)
    for i, given in enumerate(given_dense):
        own = [solution[used.index(i) * powers + j] if i in used else mpf(0) for j in range(powers)]
        off = max(off, *(abs(a - b) for a, b in zip(own, given)))
    print(f"{name}: dense output: conditions to {mp.nstr(worst, 2)}, differs by {mp.nstr(off, 2)}")
    return max(difference, off)


if __name__ == "__main__":
    names = sys.argv[1:] or list(METHODS)
    sys.exit(0 if max(derive(name) for name in names) < 1e-8 else 1)
