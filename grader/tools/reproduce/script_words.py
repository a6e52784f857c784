"""The words of a student's script in both languages, and the functions that its lines may need."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "law": "The law: ",
        "report": "What the report says: ",
        "run": "Put this file beside src/ and run:  python {file}",
        "read": "The handout explains it: handout/{place}",
        "came_back": "When it was graded, this came back: ",
        "left_out": "A part of this case is left out here: it needs a file that is not yours.",
    },
    "zh": {
        "law": "规律：",
        "report": "报告的说明：",
        "run": "把这个文件放在 src/ 旁边，然后运行：python {file}",
        "read": "讲义中的说明：handout/{place}",
        "came_back": "评分时你的代码返回：",
        "left_out": "这里省略了用例的一部分：它需要一个不属于你的文件。",
    },
}
HELPERS: Mapping[str, str] = {
    "show": '''
def show(name, value):
    """Print what came back."""
    if isinstance(value, torch.Tensor):
        print(f"{name}: {value.dtype}, shape {list(value.shape)}, on {value.device}\\n{value.detach()}")
    elif isinstance(value, dict):
        for key, item in value.items():
            show(f"{name}[{key!r}]", item)
    else:
        print(f"{name}: {value}")
''',
    "unpacked": '''
def unpacked(text, dtype):
    """The tensor that a long text holds."""
    return torch.frombuffer(bytearray(zlib.decompress(base64.b64decode(text))), dtype=dtype)
''',
    "observed": '''
def observed(function, *inputs):
    """Call it, and look whether it has changed its inputs."""
    before = [own.clone() for own in inputs]
    output = function(*inputs)
    changed = [number for number, own in enumerate(inputs) if not torch.equal(own, before[number])]
    return {"output": output, "inputs changed by the call": changed or "none"}
''',
    "gradients": '''
def gradients(function, inputs, upstream):
    """Call it, and send ``upstream`` back through what it returns."""
    inputs = [own.requires_grad_() if own.is_floating_point() else own for own in inputs]
    output = function(*[own.clone() for own in inputs])
    output.backward(upstream.reshape(output.shape))
    found = {f"gradient of input {number}": own.grad for number, own in enumerate(inputs)}
    named = function.named_parameters() if isinstance(function, torch.nn.Module) else ()
    return found | {f"gradient of {name}": own.grad for name, own in named}
''',
    "set_named": '''
def set_named(module, values):
    """Give parameters their values, by name."""
    parameters = dict(module.named_parameters())
    with torch.no_grad():
        for name, value in values.items():
            parameters[name].copy_(value)
''',
    "set_learnt": '''
def set_learnt(module, values):
    """Give the module's parameter the first of these values that has its size; a number fills all parameters."""
    with torch.no_grad():
        for value in values:
            for own in module.parameters():
                if not isinstance(value, torch.Tensor):
                    own.fill_(value)
                elif own.numel() == value.numel():
                    return own.copy_(value.reshape(own.shape))
''',
    "buffer_devices": '''
def buffer_devices(module, input):
    """Where the buffers are after a call."""
    module(input)
    return [str(buffer.device) for buffer in module.buffers()]
''',
}
