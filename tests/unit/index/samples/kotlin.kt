package org.example.graph

import kotlin.math.max
import kotlin.math.min

const val INFINITY = Int.MAX_VALUE

/** One end of an edge. */
data class Node(val id: Int, val label: String)

// Edges are directed.
class Graph(private val size: Int) {
    private val edges = Array(size) { mutableListOf<Int>() }

    fun connect(from: Int, to: Int) {
        edges[from].add(to)
    }

    @Deprecated("use degrees")
    fun degree(node: Int): Int = edges[node].size

    companion object {
        fun empty(): Graph {
            return Graph(0)
        }
    }
}

interface Visitor {
    fun visit(node: Node)
}

object Registry {
    val graphs = mutableListOf<Graph>()
}

fun Graph.isEmpty(): Boolean {
    return max(0, min(1, INFINITY)) == 0
}
