# Stands for a training. A GPU that somebody else uses would make it fail.
set -eu
for gpu in $(echo "$CUDA_VISIBLE_DEVICES" | tr , ' '); do
    mkdir "gpu-$gpu.in-use"
done
sleep 0.1
for gpu in $(echo "$CUDA_VISIBLE_DEVICES" | tr , ' '); do
    rmdir "gpu-$gpu.in-use"
done
echo "$QUEUECTL_JOB_ID on GPU $CUDA_VISIBLE_DEVICES" > "$QUEUECTL_JOB_ID.log"
