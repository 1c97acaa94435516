"""What NVIDIA's libraries are asked for: order, sizes, arguments, clean-up, errors; with a driver that takes notes."""

from __future__ import annotations

import ctypes
import gc
import struct
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import hlmc
from hlmc.errors import MissingExtra, NoDevice
from hlmc.games import on_device as games
from hlmc.games.cuda.game_kernel import LANES, GameLaunch
from hlmc.simulation import on_device
from hlmc.targets.cuda import device as devices
from hlmc.targets.cuda import memory
from hlmc.targets.cuda.code import Code, Layout
from hlmc.targets.cuda.loop import Launch

CODE = Code("some text", ("play", "rounds", "squares"), Layout("float32", True, 48))


class FakeLibraries:
    """Notes the calls of both libraries. Memory is the process's own, so that copies can be looked at."""

    def __init__(self, capability: tuple[int, int] = (9, 0), supported: tuple[int, ...] = (75, 80, 90)) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.fails: dict[str, int] = {}
        self.held: dict[int, Any] = {}
        self.bytes_free = 10**9
        self.programs: set[str] = set()
        attributes = {"MAJOR": capability[0], "MINOR": capability[1], "COUNT": 132}
        driver = {
            "cuInit": lambda flags: (),
            "cuDeviceGet": lambda number: ("gpu",),
            "cuDeviceGetName": lambda length, gpu: (b"H200\0\0\0",),
            "cuDeviceGetAttribute": lambda attribute, gpu: (attributes[attribute],),
            "cuDevicePrimaryCtxRetain": lambda gpu: ("context",),
            "cuCtxSetCurrent": lambda context: (),
            "cuCtxSynchronize": lambda: (),
            "cuMemGetInfo": lambda: (self.bytes_free, 2 * self.bytes_free),
            "cuMemAlloc": self._allocate,
            "cuMemFree": lambda address: self.held.pop(address) and (),
            "cuMemcpyHtoD": lambda to, source, size: ctypes.memmove(to, source, size) and (),
            "cuMemcpyDtoH": lambda to, source, size: ctypes.memmove(to, source, size) and (),
            "cuModuleLoadData": lambda image: (ctypes.string_at(image, 8),),
            "cuModuleGetFunction": lambda module, name: (name.decode(),),
            "cuFuncSetAttribute": lambda function, attribute, value: (),
            "cuOccupancyMaxActiveBlocksPerMultiprocessor": lambda function, block, shared: (3,),
            "cuLaunchKernel": self._launch,
            "cuLaunchCooperativeKernel": self._launch,
        }
        compiler = {
            "nvrtcGetSupportedArchs": lambda: (len(supported), list(supported)),
            "nvrtcCreateProgram": self._program,
            "nvrtcCompileProgram": lambda program, count, flags: (),
            "nvrtcGetProgramLogSize": lambda program: (30,),
            "nvrtcGetProgramLog": lambda program, log: (),
            "nvrtcGetCUBINSize": lambda program: (8,),
            "nvrtcGetCUBIN": lambda program, cubin: (),
            "nvrtcDestroyProgram": lambda program: self.programs.remove(program) or (),
        }
        self.driver = SimpleNamespace(
            **{name: self._noted(name, call) for name, call in driver.items()},
            cuGetErrorString=lambda status: (0, b"what went wrong"),
            CUdevice_attribute=SimpleNamespace(
                CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR="MAJOR",
                CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR="MINOR",
                CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT="COUNT",
            ),
            CUfunction_attribute=SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES="MOST"),
        )
        self.nvrtc = SimpleNamespace(
            **{name: self._noted(name, call) for name, call in compiler.items()},
            nvrtcGetErrorString=lambda status: (0, b"what went wrong"),
        )

    def _noted(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*arguments: Any) -> tuple[Any, ...]:
            self.calls.append((name, *arguments))
            return (self.fails[name],) if name in self.fails else (0, *call(*arguments))

        noted.__name__ = name
        return noted

    def _allocate(self, size: int) -> tuple[int]:
        block = ctypes.create_string_buffer(size)
        self.held[ctypes.addressof(block)] = block
        return (ctypes.addressof(block),)

    def _program(self, *arguments: Any) -> tuple[str]:
        self.programs.add("program")
        return ("program",)

    def _launch(self, function: str, *arguments: Any) -> tuple[()]:
        """What the driver does with the arguments' address: it reads as many bytes as the parameter has."""
        record = {"play": Launch}.get(function, GameLaunch)
        (given,) = ctypes.cast(arguments[8], ctypes.POINTER(ctypes.c_void_p))[:1]
        self.record = record(
            *struct.unpack(f"{len(record._fields)}q", ctypes.string_at(given, 8 * len(record._fields)))
        )
        return ()

    def called(self, *names: str) -> list[tuple[Any, ...]]:
        return [call for call in self.calls if call[0] in names]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLibraries]:
    found = FakeLibraries()
    gpu = devices.Device(found.driver, found.nvrtc)
    monkeypatch.setattr(memory, "device", lambda: gpu)
    monkeypatch.setattr(on_device, "device", lambda: gpu)
    monkeypatch.setattr(games, "device", lambda: gpu)
    on_device.compiled.cache_clear()
    games._compiled.cache_clear()
    found.gpu = gpu  # type: ignore[attr-defined]
    yield found
    on_device.compiled.cache_clear()
    games._compiled.cache_clear()


def gpu(fake: FakeLibraries) -> devices.Device:
    return fake.gpu  # type: ignore[attr-defined,no-any-return]


def test_the_first_device_is_used_through_its_primary_context(fake: FakeLibraries) -> None:
    assert [call[0] for call in fake.calls] == [
        *("cuInit", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute", "cuDeviceGetAttribute"),
        *("nvrtcGetSupportedArchs", "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain"),
    ]
    assert gpu(fake).name == "H200"
    assert fake.called("cuInit", "cuDeviceGet") == [("cuInit", 0), ("cuDeviceGet", 0)]


@pytest.mark.parametrize("name", ["cuInit", "cuDeviceGet"])
def test_without_a_device_the_error_says_so_in_one_line(name: str) -> None:
    fake = FakeLibraries()
    fake.fails[name] = 100
    with pytest.raises(NoDevice, match=rf'^there is no CUDA device to run on: .*{name}: what went wrong; device="cpu"'):
        devices.Device(fake.driver, fake.nvrtc)


def test_a_driver_that_cannot_be_loaded_is_told_in_one_line() -> None:
    fake = FakeLibraries()

    def missing(flags: int) -> None:
        raise RuntimeError("Failure finding libcuda\n\n  searched here\n  and there\n")

    fake.driver.cuInit = missing
    with pytest.raises(NoDevice, match="to run on: Failure finding libcuda: searched here; device"):
        devices.Device(fake.driver, fake.nvrtc)


def test_a_device_that_nvrtc_no_longer_knows_is_too_old() -> None:
    fake = FakeLibraries(capability=(6, 1))
    with pytest.raises(NoDevice, match=r"H200 is too old: its compute capability is 6\.1, and 7\.5 is needed"):
        devices.Device(fake.driver, fake.nvrtc)


def test_a_compiler_that_cannot_be_loaded_is_a_missing_extra() -> None:
    fake = FakeLibraries()

    def missing() -> None:
        raise RuntimeError("Failure finding libnvrtc")

    fake.nvrtc.nvrtcGetSupportedArchs = missing
    with pytest.raises(MissingExtra, match=r"nvidia-cuda-nvrtc is not installed; .*hlmc\[cuda\]"):
        devices.Device(fake.driver, fake.nvrtc)


def test_compilation_is_for_the_device_with_the_layout_s_registers(fake: FakeLibraries) -> None:
    functions = gpu(fake).load(CODE)
    assert functions == {"play": "play", "rounds": "rounds", "squares": "squares"}
    ((_, text, *_),) = fake.called("nvrtcCreateProgram")
    assert text == b"some text"
    ((_, _, count, flags),) = fake.called("nvrtcCompileProgram")
    assert count == len(flags)
    assert flags[:2] == [b"--gpu-architecture=sm_90", b"--maxrregcount=48"]
    assert set(flags[2:]) == {b"--ftz=true", b"--prec-div=false", b"--prec-sqrt=false"}
    assert not fake.programs  # destroyed


def test_what_nvrtc_refuses_is_told_and_cleaned_up(fake: FakeLibraries) -> None:
    fake.fails["nvrtcCompileProgram"] = 6
    fake.nvrtc.nvrtcGetProgramLog = lambda program, log: (0,)
    with pytest.raises(NoDevice, match=r"^NVRTC cannot compile for sm_90: "):
        gpu(fake).load(CODE)
    assert not fake.programs


class Record(NamedTuple):
    """As a launch record: arrays, then sizes."""

    words: Any
    flags: Any
    count: int


def test_arrays_are_copied_and_given_back(fake: FakeLibraries) -> None:
    array = np.arange(12.0).reshape(3, 4).T  # not contiguous
    there = memory.DeviceArray(array)
    assert fake.called("cuMemAlloc")[-1] == ("cuMemAlloc", 96)
    assert fake.called("cuMemcpyHtoD")[-1][3] == 96
    np.testing.assert_array_equal(there.copy_to_host(), array)
    there.copy_to_device(array + 1.0)
    np.testing.assert_array_equal(there.copy_to_host(), array + 1.0)
    address = there.address
    assert address in fake.held
    del there
    gc.collect()
    assert fake.called("cuMemFree") == [("cuMemFree", address)]
    assert not fake.held


def test_an_array_without_numbers_has_an_address_all_the_same(fake: FakeLibraries) -> None:
    there = memory.DeviceArray(np.zeros((0, 3)))
    assert fake.called("cuMemAlloc")[-1] == ("cuMemAlloc", 1)
    assert there.copy_to_host().shape == (0, 3)
    assert not fake.called("cuMemcpyHtoD", "cuMemcpyDtoH")


def test_what_does_not_fit_is_refused_before_it_is_copied(fake: FakeLibraries) -> None:
    fake.bytes_free = 100
    with pytest.raises(NoDevice, match=r"0\.00 GiB of memory left and 0\.00 GiB more are needed"):
        memory.DeviceArray(np.zeros(1000))
    assert not fake.called("cuMemAlloc", "cuMemcpyHtoD")


def test_a_record_has_eight_bytes_a_field(fake: FakeLibraries) -> None:
    words, flags = memory.DeviceArray(np.zeros(3)), memory.DeviceArray(np.zeros(1, dtype=np.int32))
    record = memory.packed(Record(words, flags, 2**40))
    assert record.tobytes() == struct.pack("3q", words.address, flags.address, 2**40)


def test_a_launch_names_grid_block_and_shared_memory_and_waits(fake: FakeLibraries) -> None:
    fields = len(Launch._fields)
    gpu(fake).launch("play", (7, 2), 128, 64, np.arange(fields, dtype=np.int64))
    (launch,) = fake.called("cuLaunchKernel")
    assert launch[1:10] == ("play", 7, 2, 1, 128, 1, 1, 64, 0)
    assert launch[11:] == (0,)
    assert fake.record == Launch(*range(fields))
    assert [call[0] for call in fake.calls[-4:]] == [
        "cuCtxSetCurrent", "cuLaunchKernel", "cuCtxSetCurrent", "cuCtxSynchronize",
    ]  # fmt: skip
    assert not fake.called("cuFuncSetAttribute", "cuLaunchCooperativeKernel")


def test_blocks_that_wait_for_one_another_are_launched_together(fake: FakeLibraries) -> None:
    fields = len(GameLaunch._fields)
    gpu(fake).launch("rounds", (5, 3), 256, 60_000, np.arange(fields, dtype=np.int64), together=True)
    assert fake.called("cuFuncSetAttribute") == [("cuFuncSetAttribute", "rounds", "MOST", 60_000)]
    (launch,) = fake.called("cuLaunchCooperativeKernel")
    assert launch[1:10] == ("rounds", 5, 3, 1, 256, 1, 1, 60_000, 0)
    assert len(launch) == 11  # no argument after the parameters
    assert fake.record == GameLaunch(*range(fields))
    assert not fake.called("cuLaunchKernel")


def test_the_room_of_a_device_is_that_of_all_multiprocessors(fake: FakeLibraries) -> None:
    assert gpu(fake).room("rounds", 256, 100) == 3 * 132


@pytest.mark.parametrize(
    "name",
    ["cuMemAlloc", "cuMemcpyHtoD", "cuMemcpyDtoH", "cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernel",
     "cuLaunchCooperativeKernel", "cuCtxSynchronize", "cuCtxSetCurrent", "cuFuncSetAttribute", "cuMemGetInfo",
     "cuOccupancyMaxActiveBlocksPerMultiprocessor"],
)  # fmt: skip
def test_no_status_is_overlooked(name: str, fake: FakeLibraries) -> None:
    fake.fails[name] = 700

    def everything() -> None:
        there = memory.DeviceArray(np.zeros(3))
        there.copy_to_host()
        functions = gpu(fake).load(CODE)
        gpu(fake).room(functions["rounds"], 256, 0)
        gpu(fake).launch("play", (1, 1), 128, 0, np.zeros(len(Launch._fields), dtype=np.int64))
        gpu(fake).launch(
            "rounds", (1, 1), 128, 50_000, np.zeros(len(GameLaunch._fields), dtype=np.int64), together=True
        )

    with pytest.raises(NoDevice, match=rf"^the device gave up: {name}: what went wrong$"):
        everything()


@pytest.mark.parametrize("name", ["nvrtcCreateProgram", "nvrtcGetCUBINSize", "nvrtcGetCUBIN"])
def test_no_status_of_nvrtc_is_overlooked(name: str, fake: FakeLibraries) -> None:
    fake.fails[name] = 3
    with pytest.raises(NoDevice, match=rf"^NVRTC: {name}: what went wrong$"):
        gpu(fake).load(CODE)
    assert not fake.programs


def test_a_simulation_launches_what_its_layout_says(fake: FakeLibraries) -> None:
    """All that a group allocates, launches and gives back; nothing is played, so all rewards are 0."""
    before = set(fake.held)
    policy = hlmc.HLMC(100, memory=20, horizon=10**6)
    adversary = hlmc.adversaries.BlockTrap(arms=100, memory=20)
    found = hlmc.estimate(policy, adversary, 10**6, runs=300, points=[500, 1000], progress=False)
    assert (found.data["mean"].values == 0.0).all()
    launches = fake.called("cuLaunchKernel")
    assert {launch[1:10] for launch in launches} == {("play", 3, 1, 1, 128, 1, 1, 0, 0)}
    assert fake.record.row_words == policy.words.total
    assert fake.record.program_words == len(policy.program)
    ((_, text, *_),) = fake.called("nvrtcCreateProgram")
    for line in ("BLOCK 128", "WORD float", "SHARED 1", f"WORDS {fake.record.workspace_words}"):
        assert f"#define DEVICE_{line}\n".encode() in text
    gc.collect()
    assert set(fake.held) == before


def test_a_game_launches_all_of_its_blocks_together(fake: FakeLibraries) -> None:
    before = set(fake.held)
    game = hlmc.games.Spectrum(agents=1000, channels=20)
    hlmc.play(hlmc.HLMC(arms=20, memory=10), game, 40, runs=2, progress=False, device="cuda", points=[40])
    launches = fake.called("cuLaunchCooperativeKernel")
    assert {launch[1:9] for launch in launches} == {("rounds", 4, 2, 1, LANES, 1, 1, 4 * 20)}
    assert fake.record.tile_count == 4
    (squares,) = fake.called("cuLaunchKernel")
    assert squares[1:9] == ("squares", 1, 2, 1, LANES, 1, 1, 0)
    gc.collect()
    assert set(fake.held) == before
