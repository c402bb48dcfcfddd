-- From here on the values of packed states are where those of keys are.
if packed then shards.unroll() end
