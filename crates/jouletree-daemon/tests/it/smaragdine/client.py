"""A client of the Smaragdine protocol as others write them: records a process and prints what it got, as JSON.

client.py ADDRESS PID PERIOD_MS SECONDS
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import grpc
from grpc_tools import protoc

HERE = Path(__file__).resolve().parent


def protocol():
    """The modules of the protocol, made from its description."""
    folder = tempfile.mkdtemp()
    wanted = ["protoc", f"-I{HERE}", f"--python_out={folder}", f"--grpc_python_out={folder}", "published.proto"]
    if protoc.main(wanted) != 0:
        sys.exit("the protocol cannot be compiled")
    sys.path.insert(0, folder)
    import published_pb2
    import published_pb2_grpc

    return published_pb2, published_pb2_grpc


def main(address, pid, period, seconds):
    messages, services = protocol()
    channel = grpc.insecure_channel(address)
    sampler = services.SamplerStub(channel)
    # As published clients do: a process is named at the start and nowhere else.
    sampler.Start(messages.StartRequest(pid=pid, period=period))
    time.sleep(seconds)
    running = sampler.Read(messages.ReadRequest()).data
    sampler.Stop(messages.StopRequest())
    data = sampler.Read(messages.ReadRequest()).data
    again = sampler.Read(messages.ReadRequest()).data
    sampler.Stop(messages.StopRequest())
    after = sampler.Read(messages.ReadRequest()).data
    fields = [reading.HasField(name) for sample in data.rapl for reading in sample.reading for name in ("package", "dram")]
    packages = [reading.package for sample in data.rapl for reading in sample.reading if reading.socket == 0]
    print(
        json.dumps(
            {
                "running_bytes": running.ByteSize(),
                "bytes": data.ByteSize(),
                "again_bytes": again.ByteSize(),
                "after_bytes": after.ByteSize(),
                "missing": fields.count(False),
                "rapl": len(data.rapl),
                "microjoules": packages[-1] - packages[0],
                "milliseconds": data.rapl[-1].timestamp - data.rapl[0].timestamp,
                "cpu": len(data.cpu),
                "cpus": len(data.cpu[0].reading),
                "process": len(data.process),
                "tasks": sorted({task.task_id for sample in data.process for task in sample.reading}),
                "now": int(time.time() * 1000) - data.rapl[-1].timestamp,
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
