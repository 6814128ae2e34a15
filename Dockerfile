# The Linux image: the program, the root certificates and an empty /tmp, nothing
# else, so there is no shell and no package to keep up to date. The program is
# not built here: make image builds it, the same way as for every other use, and
# puts all that goes in into bin/image/linux.
FROM scratch
ARG VERSION=unknown
ARG COMMIT=unknown
ARG SOURCE=
LABEL org.opencontainers.image.title="rsms-job" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.licenses="MIT"
COPY bin/image/linux/ /
# Run folders live in /tmp. Where the root file system is read-only, mount one.
ENV HOME=/tmp
WORKDIR /tmp
# A number, so that a host which forbids root can see that this is not root.
USER 65532:65532
STOPSIGNAL SIGTERM
ENTRYPOINT ["/rsms-job"]
