"""Samples of a study on a Ray cluster.

The driver splits the missing samples into chunks, sends them to workers, and passes the results to the ledger of the study, which
takes every sample once. A worker gets the study with its files as bytes, so that nodes need no shared disk, and computes a
chunk with the same code as threads do. A chunk that is lost with its worker or its node is computed again.

`python -m catena._ray` does this for the program `catena`: see crates/catena-cli/src/commands/sweep/ray.rs.
"""

from __future__ import annotations

import collections
import hashlib
import json
import logging
import math
import os
import signal
import socket
import sys
import threading
import time
from typing import Any, Callable, Deque, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from . import _catena
from .errors import Error, InputError, UnsupportedError

#: Seconds of work in a chunk.
TARGET = 1.5
#: Seconds of work in the longest chunk of a large cluster.
LONGEST = 60.0
#: Fraction of its time that the driver may spend on sending and receiving chunks.
BUSY = 0.25
#: Largest ratio of the next chunk to the largest one so far.
GROWTH = 8
#: Chunks for each processor of the cluster, so that none waits for the driver.
AHEAD = 2
#: Workers that a sample may crash.
DEATHS = 5
#: Seconds within which an address must respond.
PATIENCE = 10.0
#: Seconds between two checks of the size of the cluster.
LOOK = 1.0


class Work(NamedTuple):
    """The work of a cluster: chunks, processes and nodes that computed them, chunks lost and repeated, wall-clock seconds and processor seconds of computation."""

    chunks: int
    workers: int
    nodes: int
    lost: int
    seconds: float
    processor_seconds: float


class Chunk(NamedTuple):
    """Samples from `first` to before `end`, and how many workers have died with them."""

    first: int
    end: int
    deaths: int = 0


class Sizes:
    """The number of samples in a chunk: as many as take the target time, estimated from earlier samples."""

    def __init__(self) -> None:
        self._seconds: Optional[float] = None  # of a sample
        self._largest = 0
        self._overhead = 0.0  # seconds of the driver for a chunk

    def note(self, samples: int, seconds: float, overhead: float) -> None:
        """Records the time of a chunk and the overhead of the driver for it."""
        own = max(seconds, 1e-9) / samples
        self._seconds = own if self._seconds is None else 0.7 * self._seconds + 0.3 * own
        self._overhead = 0.9 * self._overhead + 0.1 * overhead
        self._largest = max(self._largest, samples)

    def target(self, processors: int) -> float:
        """Seconds of a chunk: more if so many processors would overload the driver."""
        return min(max(TARGET, processors * self._overhead / BUSY), LONGEST)

    def next(self, left: int, processors: int) -> int:
        """Samples of the next chunk; chunks shrink towards the end, so that all processors finish together."""
        if self._seconds is None:
            return 1
        wanted = min(int(self.target(processors) / self._seconds), GROWTH * self._largest)
        return max(1, min(wanted, math.ceil(left / (AHEAD * processors))))


class Queue:
    """Samples that have not been sent."""

    def __init__(self, ranges: Iterable[Tuple[int, int]]) -> None:
        self._chunks: Deque[Chunk] = collections.deque(Chunk(first, end) for first, end in ranges)
        self.left = sum(chunk.end - chunk.first for chunk in self._chunks)

    def cut(self, size: int) -> Chunk:
        """The next samples, at most `size`."""
        chunk = self._chunks.popleft()
        if chunk.end - chunk.first > size:
            self._chunks.appendleft(chunk._replace(first=chunk.first + size))
            chunk = chunk._replace(end=chunk.first + size)
        self.left -= chunk.end - chunk.first
        return chunk

    def back(self, chunk: Chunk) -> None:
        """Queues a lost chunk again: in halves, so that a sample that crashes its worker is found."""
        count = chunk.end - chunk.first
        if count == 1 and chunk.deaths + 1 >= DEATHS:
            raise Error(
                f"sample {chunk.first} has crashed its worker {DEATHS} times",
                hint="check the memory of the nodes, and compute the sample alone: Study.run([index]); finished samples are kept",
            )
        middle = chunk.first + (count + 1) // 2
        for first, end in ((middle, chunk.end), (chunk.first, middle)):
            if first < end:
                self._chunks.appendleft(Chunk(first, end, chunk.deaths + 1))
        self.left += count


#: The study that this process computes, and its checksum.
_kept: Tuple[Optional[str], Any] = (None, None)


def samples(check: str, parcel: List[Any], first: int, end: int) -> Tuple[bytes, Tuple[float, float], str, Optional[Tuple[str, Optional[str]]]]:
    """On a worker: samples as lines of a journal, their wall-clock and processor seconds, the process, and the error, if any."""
    global _kept
    import ray

    node = ray.util.get_node_ip_address()
    node_id = ray.get_runtime_context().get_node_id()
    try:
        if _kept[0] != check:
            shipment, measures, record = ray.get(parcel)
            # instructions that the driver's processor lacks give different bits
            os.environ["CATENA_CPU"] = json.loads(shipment[: shipment.index(b"\n")])["cpu"]
            _kept = (check, _catena.StudyData.unpack(shipment, measures, record))
        begin, used = time.perf_counter(), time.process_time()
        lines = _kept[1].lines(first, end)
        return lines, (time.perf_counter() - begin, time.process_time() - used), f"{node_id} {os.getpid()}", None
    except Error as error:
        return b"", (0.0, 0.0), f"{node_id} {os.getpid()}", (f"{error.message} (node {node})", error.hint)


def _imported() -> Any:
    try:
        import ray
    except ImportError:
        raise UnsupportedError(
            f"{sys.executable} does not have the package ray", hint="install it with `pip install ray`"
        ) from None
    return ray


def _expect_someone(address: Optional[str]) -> None:
    """Fails fast if nothing listens at an address: Ray would try for minutes."""
    host, _, port = (address or "").rpartition(":")
    if host and port.isdecimal() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()


class Cluster:
    """A connection to a cluster; it is closed at the end, unless the caller opened it."""

    def __init__(self, address: Optional[str] = None) -> None:
        self.ray = _imported()
        self._joined = not self.ray.is_initialized()
        if self._joined:
            try:
                _expect_someone(address)
                self.ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
            except (OSError, OverflowError, RuntimeError, ValueError) as error:
                reason = (str(error).strip() or type(error).__name__).splitlines()[0]
                raise UnsupportedError(
                    f"no Ray cluster at {address or 'any address'}: {reason}",
                    hint="start one with `ray start --head`, and give its address as HOST:PORT",
                ) from None

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: Any) -> None:
        if self._joined:
            self.ray.shutdown()

    def carry_out(
        self,
        shipment: bytes,
        missing: Iterable[Tuple[int, int]],
        take: Callable[[bytes], Any],
        measures: Sequence[Tuple[str, str, Callable[..., float]]] = (),
        record: Sequence[str] = (),
    ) -> Work:
        """Computes samples; `take` gets them as lines of a journal, chunk by chunk, as they arrive.

        `measures` are the measures of the study that are Python functions, `record` the columns that they need.
        """
        ray, lost_with_worker = self.ray, _losses(self.ray)
        task = ray.remote(samples).options(num_cpus=1, max_retries=0, scheduling_strategy="SPREAD", name="catena.samples")
        check = hashlib.sha256(shipment).hexdigest()
        parcel = [ray.put(part) for part in (shipment, list(measures), list(record))]
        queue, sizes = Queue(missing), Sizes()
        flying: Dict[Any, Chunk] = {}
        workers: Set[str] = set()
        chunks = lost = 0
        computed = used = overhead = 0.0
        processors, next_look = 1, 0.0
        while queue.left or flying:
            begin = time.perf_counter()
            if begin >= next_look:
                processors = max(1, int(ray.cluster_resources().get("CPU", 0)))
                next_look = begin + LOOK
            while queue.left and len(flying) < AHEAD * processors:
                chunk = queue.cut(sizes.next(queue.left, processors))
                flying[task.remote(check, parcel, chunk.first, chunk.end)] = chunk
            overhead += time.perf_counter() - begin
            ready, _ = ray.wait(list(flying), num_returns=1, timeout=LOOK)
            if len(flying) > 1 and ready:
                ready, _ = ray.wait(list(flying), num_returns=len(flying), timeout=0)
            for reference in ready:
                begin = time.perf_counter()
                chunk = flying.pop(reference)
                try:
                    lines, (seconds, processor), worker, wrong = ray.get(reference)
                except lost_with_worker:
                    lost += 1
                    queue.back(chunk)
                    continue
                except ray.exceptions.RayError as error:
                    reason = str(error).strip().splitlines()[-1]
                    raise UnsupportedError(
                        f"a worker could not compute samples: {reason}",
                        hint=f"install catena {_catena.__version__} and its extra `ray` on every node",
                    ) from None
                if wrong is not None:
                    raise InputError(wrong[0], hint=wrong[1])
                overhead += time.perf_counter() - begin
                sizes.note(chunk.end - chunk.first, seconds, overhead)
                overhead = 0.0
                take(lines)
                chunks, computed, used = chunks + 1, computed + seconds, used + processor
                workers.add(worker)
        return Work(chunks, len(workers), len({worker.split()[0] for worker in workers}), lost, computed, used)


def _losses(ray: Any) -> Tuple[type, ...]:
    """The exceptions of Ray for a worker or a node that was lost, and the samples with it."""
    known = ray.exceptions
    return (known.WorkerCrashedError, known.NodeDiedError, known.OutOfMemoryError, known.ObjectLostError)


def _end_with_stdin() -> None:
    """Ends this process when its parent has ended, for any reason."""
    while sys.stdin.buffer.read1(65536):
        pass
    threading.Timer(10.0, lambda: os._exit(1)).start()
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> int:
    """Computes what the program `catena` requests on stdin; samples go to stdout."""
    # the output of Ray and its libraries is not a reply
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # Control-C is for the parent process; this one ends with its stdin
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))

    def answer(word: str, body: bytes = b"") -> None:
        answers.write(word.encode() + b"\n" + body)
        answers.flush()

    try:
        head = json.loads(sys.stdin.buffer.readline())
        shipment = sys.stdin.buffer.read(head["shipment"])
        with Cluster(head["address"]) as cluster:
            answer("ready")
            missing = json.loads(sys.stdin.buffer.readline() or b"null")
            if missing is None:
                return 1
            threading.Thread(target=_end_with_stdin, daemon=True).start()
            work = cluster.carry_out(shipment, missing["missing"], lambda lines: answer(f"samples {len(lines)}", lines))
            answer("done " + json.dumps(work._asdict()))
        return 0
    except Error as error:
        answer("error " + json.dumps({"message": error.message, "hint": error.hint}))
        return 1


if __name__ == "__main__":
    # workers import what they compute by its name in the package
    from catena import _ray as package

    sys.exit(package.main())
