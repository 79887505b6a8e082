library(dplyr)
source("helpers.R")

#' Means of the columns of a table
#'
#' @param data A data frame.
column_means <- function(data) {
  sapply(data, function(column) mean(column))
}

"%+%" = function(a, b) paste0(a, b)

setClass("Person", representation(name = "character"))

setMethod("show", "Person", function(object) {
  cat(object@name)
})

Queue <- R6::R6Class("Queue", public = list(
  items = NULL,
  initialize = function() {
    self$items <- list()
  },
  add = function(item) {
    self$items <- c(self$items, item)
  }
))

limit <- 3

test_that("means are right", {
  expect_equal(column_means(data.frame(a = 1:3)), c(a = 2))
})
