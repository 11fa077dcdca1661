# docker build -t yieldrl .                            for a CPU
# docker build -t yieldrl --build-arg BUILD=cu130 .    for an NVIDIA GPU
# docker run -v "$PWD/runs:/work/runs" yieldrl train ppo       (with --gpus all)
FROM python:3.12-slim
ARG BUILD=cpu
# What paints robots without a screen, and the compiler of compile=True.
RUN apt-get update \
 && apt-get install -y --no-install-recommends g++ libegl1 libgl1 libgles2 libosmesa6 \
 && rm -rf /var/lib/apt/lists/*
COPY . /yieldrl
RUN pip install --no-cache-dir -c /yieldrl/.ci/constraints.txt \
    --extra-index-url "https://download.pytorch.org/whl/$BUILD" \
    -e '/yieldrl[atari,mujoco,plot,video]'
WORKDIR /work
ENTRYPOINT ["yieldrl"]
CMD ["--help"]
