"""Scratch memory of a context from another library's pool."""

from ._sheaf import BadArgument


def functions_of(scratch, device):
    """The functions allocate(bytes, stream) and release(address, bytes, stream) for context(scratch=...)."""
    if scratch == "torch":
        return _of_torch(device)
    if scratch == "cupy":
        return _of_cupy(device)
    if isinstance(scratch, tuple) and len(scratch) == 2 and all(callable(function) for function in scratch):
        return scratch
    raise BadArgument("context: scratch is not 'torch', 'cupy' or a pair of functions (allocate, release)")


def _of_torch(device):
    if device < 0:
        raise BadArgument("context: torch's pool has memory for CUDA alone")
    import torch

    def allocate(size, stream):
        return torch.cuda.caching_allocator_alloc(size, device, stream)

    def release(address, size, stream):
        torch.cuda.caching_allocator_delete(address)

    return allocate, release


def _of_cupy(device):
    if device < 0:
        raise BadArgument("context: CuPy's pool has memory for CUDA alone")
    import cupy

    held = {}

    def allocate(size, stream):
        # CuPy's pool keeps the blocks of each stream apart, and takes the current one's.
        with cupy.cuda.Device(device), cupy.cuda.ExternalStream(stream):
            block = cupy.cuda.alloc(size)
        held[block.ptr] = block
        return block.ptr

    def release(address, size, stream):
        with cupy.cuda.Device(device), cupy.cuda.ExternalStream(stream):
            held.pop(address, None)

    return allocate, release
