# SPDX-License-Identifier: Apache-2.0
"""An application that copies a topic, for tests that kill it.

Its arguments are SERVERS SOURCE SINK CHECKPOINT EPOCH and words: `python` (through a function), `exactly-once`,
`micro-batch`, `counted` (a value that came once is copied, one that was counted twice says so), `seldom` (records its
progress once in a minute).
"""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

servers, source, sink, checkpoint, epoch, *words = sys.argv[1:]
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
copied = F.udf(lambda text: text, "string")(value) if "python" in words else value
rows = records.select("key", copied.alias("value"))
if "counted" in words:
    often = F.when(F.col("count") > 1, F.concat("value", F.lit(" counted "), "count")).otherwise(F.col("value"))
    rows = rows.groupBy("value").count().select(often.alias("value"))
writer = (
    rows.writeStream.outputMode("update")
    .format("kafka")
    .option("kafka.bootstrap.servers", servers)
    .option("topic", sink)
    .option("checkpointLocation", checkpoint)
    .option("commitInterval", "1 minute" if "seldom" in words else "100ms")
    .option("delivery", "exactly-once" if "exactly-once" in words else "at-least-once")
)
if "micro-batch" in words:
    writer.trigger(processingTime="0 seconds").start().awaitTermination()
else:
    writer.trigger(realTime="1 second").start().awaitTermination()  # type: ignore[call-overload] # PySpark's types lack it
