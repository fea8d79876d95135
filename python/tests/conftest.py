"""Models that several tests use."""

import os
import pathlib

import numpy as np
import pytest

import catena

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def arm():
    return catena.model("stanford")


@pytest.fixture(scope="session")
def space_robot():
    return catena.model("space-robot")


@pytest.fixture
def states():
    """Rows of random states of a model: q (N, nq), v (N, nv)."""

    def make(model, count=50, seed=1):
        pairs = [model.random(seed + k) for k in range(count)]
        return np.array([q for q, _ in pairs]), np.array([v for _, v in pairs])

    return make


@pytest.fixture(autouse=True)
def all_threads():
    """Every test begins on all processors."""
    catena.set_threads(0)
    yield
    catena.set_threads(0)
