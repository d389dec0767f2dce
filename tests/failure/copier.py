# SPDX-License-Identifier: Apache-2.0
"""An application that copies a topic, for tests that kill it: SERVERS SOURCE SINK CHECKPOINT EPOCH [python]."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

servers, source, sink, checkpoint, epoch, *rest = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
spark.conf.set("spark.headrace.realtime.epoch", epoch)
records = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", servers)
    .option("subscribe", source)
    .option("startingOffsets", "earliest")
    .load()
)
value = F.col("value").cast("string")
copies = records.select("key", (F.udf(lambda text: text, "string")(value) if rest else value).alias("value"))
writer = (
    copies.writeStream.format("kafka")
    .option("kafka.bootstrap.servers", servers)
    .option("topic", sink)
    .option("checkpointLocation", checkpoint)
    .option("commitInterval", "100ms")
)
writer.trigger(realTime="1 second").start().awaitTermination()  # type: ignore[call-overload] # PySpark's types lack it
