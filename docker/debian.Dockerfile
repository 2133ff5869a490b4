# SPDX-License-Identifier: Apache-2.0
# ros2_cosim with the wheels of ROS 2 Jazzy, on Debian 12. From the checkout:
#   docker build -f docker/debian.Dockerfile -t ros2_cosim_wheels .
#   docker run --rm ros2_cosim_wheels
FROM debian:12

# The versions are those of the distribution.
# hadolint ignore=DL3008
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
       ca-certificates make g++ python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /ros2_cosim
COPY . .
RUN make setup

CMD ["make", "platoon"]
