"""Groups of similar texts, each around its principal.

In the order of ranks each text without a group becomes the principal of the later ones whose similarity to it reaches
the threshold, by their sets and not by their signatures. So every member was compared with its principal, members may
be less similar to each other, and the groups follow from the texts and their ranks alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from review.near.bands import Keys
from review.near.collected import Collected, Numbers
from review.near.shingles import jaccard

NO_GROUP = -1


@dataclass(frozen=True, slots=True)
class Grouped:
    """Each text's principal and similarity to it, by position: a principal's principal is itself; `NO_GROUP` outside any
    group. `compared`: pairs of sets that were compared."""

    principal: Numbers
    similarity: npt.NDArray[np.float64]
    compared: int


@dataclass(frozen=True, slots=True)
class _Bucket:
    """The texts that share a key of one band. `of`: each text's number, `NO_GROUP` if it is alone; `members[starts[n] :
    starts[n + 1]]` have number n."""

    of: npt.NDArray[np.int32]
    members: npt.NDArray[np.int32]
    starts: Numbers


def grouped(texts: Collected, threshold: float) -> Grouped:
    """Group the texts. Texts with the same set are compared once, and are in one group."""
    ranks, scopes = texts.ranks, texts.scopes
    first = _first_alike(texts.digests, scopes, ranks)
    own = np.flatnonzero(first == np.arange(len(ranks)))
    distinct = own[np.argsort(ranks[own], kind="stable")]
    keys = texts.take_keys()[distinct]
    buckets = [_bucket(keys[:, band], scopes[distinct]) for band in range(keys.shape[1])]
    principal, similarity, compared = _around_principals(texts, distinct, buckets, threshold)
    at = np.full(len(ranks), NO_GROUP, np.int64)
    at[distinct] = np.arange(len(distinct))
    mine = at[first]  # each text's position of its set among the distinct ones
    out = np.where(principal[mine] == NO_GROUP, NO_GROUP, distinct[principal[mine]])
    several = np.bincount(first, minlength=len(ranks))[first] > 1
    out = np.where((out == NO_GROUP) & several, first, out)
    return Grouped(out, similarity[mine], compared)


def _first_alike(digests: Keys, scopes: Numbers, ranks: Numbers) -> Numbers:
    """Return, for each text, the first by rank in its scope with the same set."""
    order = np.lexsort((ranks, digests[:, 1], digests[:, 0], scopes))
    new = np.ones(len(order), np.bool_)
    new[1:] = (digests[order[1:]] != digests[order[:-1]]).any(axis=1) | (scopes[order[1:]] != scopes[order[:-1]])
    out = np.empty(len(order), np.int64)
    out[order] = order[new][np.cumsum(new) - 1] if len(order) else order
    return out


def _bucket(keys: npt.NDArray[np.uint64], scopes: Numbers) -> _Bucket:
    order = np.lexsort((scopes, keys))
    new = np.ones(len(order), np.bool_)
    new[1:] = (keys[order[1:]] != keys[order[:-1]]) | (scopes[order[1:]] != scopes[order[:-1]])
    number = np.cumsum(new) - 1
    sizes = np.bincount(number, minlength=0)
    kept = sizes[number] > 1
    members = order[kept]
    renumbered = (np.cumsum(sizes > 1) - 1)[number[kept]]
    of = np.full(len(keys), NO_GROUP, np.int32)
    of[members] = renumbered
    return _Bucket(of, members.astype(np.int32), np.concatenate([[0], np.cumsum(sizes[sizes > 1])]).astype(np.int64))


def _around_principals(
    texts: Collected, distinct: Numbers, buckets: list[_Bucket], threshold: float
) -> tuple[Numbers, npt.NDArray[np.float64], int]:
    """Return principals and similarities by position among the distinct texts, which are in the order of their
    ranks."""
    principal = np.full(len(distinct), NO_GROUP, np.int64)
    similarity = np.ones(len(distinct), np.float64)
    compared = 0
    somewhere = np.zeros(len(distinct), np.bool_)
    for bucket in buckets:
        somewhere |= bucket.of != NO_GROUP
    for place in np.flatnonzero(somewhere).tolist():
        if principal[place] != NO_GROUP:
            continue
        own = texts.shingles(distinct[place])
        for other in _candidates(buckets, place, principal):
            theirs = texts.shingles(distinct[other])
            if min(own.size, theirs.size) / max(own.size, theirs.size) < threshold:
                continue  # sets of such different sizes cannot reach the threshold
            compared += 1
            alike = jaccard(own, theirs)
            if alike >= threshold:
                principal[place], principal[other], similarity[other] = place, place, alike
    return principal, similarity, compared


def _candidates(buckets: list[_Bucket], place: int, principal: Numbers) -> Numbers:
    """Return later texts that share a band with this one and are in no group yet, in order."""
    shared = [
        bucket.members[bucket.starts[number] : bucket.starts[number + 1]]
        for bucket in buckets
        if (number := bucket.of[place]) != NO_GROUP
    ]
    found: Numbers = np.unique(np.concatenate(shared)).astype(np.int64)
    later: Numbers = found[(found > place) & (principal[found] == NO_GROUP)]
    return later
