"""How an operator is called: at once, recorded by autograd, or by the dispatcher of torch.

A call of torch's dispatcher, with a gradient, costs several times a small call of sheaf. So it is only made where
torch looks at operators: by torch.compile, autocast, modes and transforms, and for classes derived from Tensor.
Otherwise an operator's function runs at once, or within an autograd.Function if a gradient will be asked for; also if
the dispatcher was called, from its kernel of autograd on.
"""

import torch
from torch.autograd import forward_ad

from ._operators import OPERATORS, dispatched

Tensor, Parameter = torch.Tensor, torch.nn.Parameter
is_tracing = torch.compiler.is_dynamo_compiling
is_recording = torch.is_grad_enabled
casts = torch._C._is_any_autocast_enabled
modes = torch._C._len_torch_dispatch_stack
transforms = torch._C._functorch.maybe_current_level
jit = torch._C._get_tracing_state


def is_watched():
    """Whether operators are recorded, replaced or followed: by a trace, a mode, a transform or forward mode."""
    if is_tracing() or modes():
        return True
    return transforms() is not None or jit() is not None or forward_ad._current_level >= 0


def torch_looks():
    """Whether torch wants to see every operator, whatever its tensors."""
    return casts() or is_watched()


def is_tensor_alone(*tensors):
    """Whether all are tensors with memory: of torch's own class, and not of a class derived from it."""
    for tensor in tensors:
        if tensor is not None and ((type(tensor) is not Tensor and type(tensor) is not Parameter) or tensor.is_meta):
            return False
    return True


def is_plain(*tensors):
    """Whether an operator's function may run at once: there is nobody to tell and no gradient to record."""
    if torch_looks():
        return False
    recording = is_recording()
    for tensor in tensors:
        kind = type(tensor)
        if kind is Tensor or kind is Parameter:
            if (recording and tensor.requires_grad) or tensor.is_meta:
                return False
        elif tensor is not None:
            return False
    return True


def records(*tensors):
    """Whether autograd will ask for the gradient of one of these."""
    if is_recording():
        for tensor in tensors:
            if tensor is not None and tensor.requires_grad:
                return True
    return False


class Call:
    """An operator, called in the way that its arguments need."""

    def __init__(self, operator):
        self.run = operator.run
        self.dispatch = dispatched(operator)
        self.record = None  # `apply` of an autograd.Function; None: there are no gradients
        arguments = enumerate(self.dispatch._schema.arguments)
        self.tensors = [place for place, argument in arguments if "Tensor" in str(argument.type)]

    def at_once(self, arguments):
        """What runs where nobody but autograd is to be told, or None."""
        tensors = [arguments[place] for place in self.tensors if arguments[place] is not None]
        if torch_looks() or not is_tensor_alone(*tensors):
            return None
        return self.record if self.record is not None and records(*tensors) else self.run

    def refuse_forward_mode(self, arguments):
        refuse_forward_mode(arguments[place] for place in self.tensors)

    def __call__(self, *arguments):
        if is_tracing():
            return self.dispatch(*arguments)
        run = self.at_once(arguments)
        if run is None:
            self.refuse_forward_mode(arguments)
            run = self.dispatch
        return run(*arguments)


def refuse_forward_mode(tensors):
    """Raises for derivatives along a direction, which operators would drop in silence."""
    if forward_ad._current_level >= 0:
        if any(tensor is not None and forward_ad.unpack_dual(tensor).tangent is not None for tensor in tensors):
            raise NotImplementedError("sheaf.torch has no derivatives of forward mode")


class Calls:
    """``calls.gather(table, index)`` and so on."""

    def __init__(self, operators):
        for operator in operators:
            setattr(self, operator.name, Call(operator))


calls = Calls(OPERATORS)
