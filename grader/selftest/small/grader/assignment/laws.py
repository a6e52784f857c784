"""What to look for in one's own output, by property, without knowing any expected value."""

LAWS = {
    "attention_causal": {
        "en": "Change a later token of the input: no earlier token of the output may change.",
        "zh": "改变输入中靠后的 token：输出中靠前的 token 都不应改变。",
    },
}
