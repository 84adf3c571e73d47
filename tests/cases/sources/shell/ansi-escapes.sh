# Escapes of bytes, of which two are one character, and of a code.
vllm serve org/model --served-model-name $'\xc3\xa4\103' $'\u00e4\t' --port 8001
