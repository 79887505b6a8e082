package org.example.stats

import scala.collection.mutable
import scala.math.sqrt

/** A running mean. */
class Mean(start: Double) extends Summary {
  private val seen = mutable.Buffer(start)

  def add(value: Double): Unit = {
    seen += value
  }

  // Of everything seen.
  override def value: Double =
    seen.sum / seen.size
}

trait Summary {
  def value: Double
}

object Mean {
  val Zero = 0.0

  def of(values: Double*): Mean = {
    val mean = new Mean(Zero)
    values.foreach(mean.add)
    mean
  }
}

case class Sample(value: Double)
