"""Group: the ranks that train together, and what they tell each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor
from torch import distributed as dist

from edgnn.errors import TrainingError
from edgnn.graphs import Traffic
from edgnn.nn.ops import lost_ranks_as_errors
from edgnn.training._values import pack_tensors, unpack_tensors

#: After so many seconds without an answer, a rank counts as lost; one that is killed is noticed at
#: once.
_PATIENCE = 1800.0

_SAID = "edgnn/said"
_GO_ON, _INTERRUPTED, _FAILED = 0, 2, 3  # 1: end the training


@dataclass(frozen=True, eq=False)
class Group:
    """The processes that train one fleet together; each calls the same functions in the same order.

    Made by :meth:`current` where ``torch.distributed`` has been set up, or by :func:`launched`
    under torchrun.

    Attributes
    ----------
    rank, size : int
        The number of this process, from 0, and how many there are.
    local_rank : int
        Its number on its machine: that of the CUDA device it uses.
    traffic : Traffic
        Bytes this rank has added up with the others.
    store : torch.distributed.Store, optional
        What torchrun keeps for all ranks, also while it starts them again.
    """

    rank: int
    size: int
    local_rank: int = 0
    traffic: Traffic = field(default_factory=Traffic)
    store: Any | None = None

    @classmethod
    def current(cls, store: Any | None = None) -> Group | None:
        """Return the ranks that ``torch.distributed`` has joined; ``None`` if there is but one."""
        if not dist.is_available() or not dist.is_initialized() or dist.get_world_size() == 1:
            return None
        return cls(
            dist.get_rank(),
            dist.get_world_size(),
            int(os.environ.get("LOCAL_RANK", "0")),
            store=store,
        )

    @property
    def first(self) -> bool:
        """Whether this is rank 0, which writes and speaks for all."""
        return self.rank == 0

    def device(self, name: str) -> torch.device:
        """Return the device of this rank: of several CUDA devices, its own."""
        device = torch.device(name)
        if device.type != "cuda" or device.index is not None:
            return device
        if self.local_rank >= torch.cuda.device_count():
            raise TrainingError(
                f"rank {self.rank} is number {self.local_rank} on its machine, which has "
                f"{torch.cuda.device_count()} CUDA devices: "
                "launch at most that many ranks there (torchrun --nproc-per-node), or use "
                "device='cpu'"
            )
        torch.cuda.set_device(self.local_rank)
        return torch.device("cuda", self.local_rank)

    def deal(self, items: Tensor) -> Tensor:
        """Return every size-th column: this rank's part of a batch; at least one, filled with −1.

        Shapes
        ------
        items (M, B) → (M, ⌈(B − rank) / size⌉)
        """
        own = items[:, self.rank :: self.size]
        return own if own.shape[1] else items.new_full((len(items), 1), -1)

    def sum_(self, tensor: Tensor) -> Tensor:
        """Add up a tensor over the ranks, in place; all get the same bits."""
        with lost_ranks_as_errors():
            dist.all_reduce(tensor)
        self.traffic.exchanges += 1
        self.traffic.sent += tensor.nbytes
        self.traffic.received += tensor.nbytes
        return tensor

    def decided(self, decide: Callable[[], bool]) -> bool:
        """Let every rank decide, and return what rank 0 has decided.

        Where that is interrupted or fails, all ranks end.
        """
        code, raised = _GO_ON, None
        try:
            code = int(decide())
        except BaseException as error:
            if not self.first:
                raise
            code, raised = _INTERRUPTED if isinstance(error, KeyboardInterrupt) else _FAILED, error
        told = torch.tensor(code, device=self._channel)
        with lost_ranks_as_errors():
            dist.broadcast(told, 0)
        if raised is not None:
            raise raised
        if told == _INTERRUPTED:
            raise KeyboardInterrupt
        if told == _FAILED:
            raise TrainingError("rank 0 ended with an error of its own, which it tells")
        return bool(told)

    def largest(self, number: int) -> int:
        """Return the largest of the ranks' numbers."""
        tensor = torch.tensor(number, device=self._channel)
        with lost_ranks_as_errors():
            dist.all_reduce(tensor, dist.ReduceOp.MAX)
        return int(tensor)

    def any(self, flags: Tensor) -> Tensor:
        """Return where any rank's flag is set."""
        return self.sum_(flags.to(torch.float32).to(self._channel)).to(flags.device) > 0

    def numbers(self, own: Tensor, sent: list[int]) -> tuple[Tensor, list[int]]:
        """Send whole numbers, so many to each rank; return those received, and their counts."""
        counts = torch.tensor(sent, device=self._channel)
        coming = torch.empty_like(counts)
        with lost_ranks_as_errors():
            dist.all_to_all_single(coming, counts)
            received = coming.tolist()
            got = torch.empty(sum(received), dtype=own.dtype, device=self._channel)
            dist.all_to_all_single(got, own.to(self._channel), received, sent)
        return got.to(own.device), received

    def share(self, data: bytes | None) -> bytes | None:
        """Return what rank 0 has, on every rank."""
        length = torch.tensor(-1 if data is None else len(data), device=self._channel)
        with lost_ranks_as_errors():
            dist.broadcast(length, 0)
            if int(length) <= 0:
                return None if int(length) < 0 else b""
            content = torch.empty(int(length), dtype=torch.uint8)
            if self.first and data is not None:
                content = torch.frombuffer(bytearray(data), dtype=torch.uint8)
            content = content.to(self._channel)
            dist.broadcast(content, 0)
        return bytes(content.cpu().numpy())

    def texts(self, own: str) -> list[str]:
        """Return what every rank says."""
        data = own.encode()
        length = self.largest(len(data))
        padded = torch.tensor(
            [*data, *[0] * (length - len(data))], dtype=torch.uint8, device=self._channel
        )
        every = [torch.empty_like(padded) for _ in range(self.size)]
        with lost_ranks_as_errors():
            dist.all_gather(every, padded)
        return [bytes(said.cpu().numpy()).rstrip(b"\0").decode() for said in every]

    def said_before(self, text: str) -> bool:
        """Return whether rank 0 has said this last, before all ranks were started again.

        Call it before saying it.
        """
        if self.store is None:
            return False
        same = self.store.check([_SAID]) and self.store.get(_SAID) == text.encode()
        self.store.set(_SAID, text)
        return bool(same)

    @property
    def _channel(self) -> torch.device:
        """Where short messages go through: the CPU, unless torch has only been given NCCL."""
        if "cpu" in dist.get_backend_config():
            return torch.device("cpu")
        return torch.device("cuda", torch.cuda.current_device())


def shared_state(state: dict[str, Tensor] | None, group: Group) -> dict[str, Tensor] | None:
    """Return the state that rank 0 goes on from, on every rank."""
    data = group.share(None if state is None else pack_tensors(state))
    return None if data is None else unpack_tensors(data)


def ranks_launched() -> int:
    """Return how many ranks torchrun has started, 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1")) if "TORCHELASTIC_RUN_ID" in os.environ else 1


@contextmanager
def launched(timeout: float = _PATIENCE) -> Iterator[Group | None]:
    """Join the ranks that torchrun has started, and leave them at the end.

    Yields ``None`` where there is only this process.

    Parameters
    ----------
    timeout : float
        Seconds after which a rank that does not answer counts as lost.
    """
    if ranks_launched() == 1:
        yield None
        return
    if not dist.is_available():
        raise TrainingError(
            "this torch was built without torch.distributed: install another one, or launch one "
            "process only"
        )
    store = _join(timeout)
    try:
        yield Group.current(store)
    finally:
        dist.destroy_process_group()


def _join(timeout: float) -> Any:
    on_cuda = torch.cuda.is_available()
    if not dist.is_gloo_available() or (on_cuda and not dist.is_nccl_available()):
        lacking = "gloo" if not dist.is_gloo_available() else "NCCL"
        raise TrainingError(
            f"this torch was built without {lacking}, which ranks talk through: install another one"
        )
    from torch.distributed.distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    patience = timedelta(seconds=timeout)
    try:
        store, rank, size = next(iter(rendezvous("env://", timeout=patience)))
        # torchrun keeps its store when it starts all ranks again: those of each attempt look for
        # each other in a place of their own
        own = PrefixStore(
            f"edgnn/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}/{size}", store
        )
        backend = "cpu:gloo,cuda:nccl" if on_cuda else "gloo"
        dist.init_process_group(backend, store=own, rank=rank, world_size=size, timeout=patience)
        return store
    except (RuntimeError, ValueError) as error:
        where = f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}"
        raise TrainingError(
            f"rank {os.environ.get('RANK')} of {os.environ.get('WORLD_SIZE')} could not join the "
            f"others at {where}: check that all "
            "machines reach that address, and that all ranks were launched "
            f"({(str(error).splitlines() or [''])[0]})"
        ) from None
