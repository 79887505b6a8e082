{-# LANGUAGE OverloadedStrings #-}
module Data.Queue (Queue, push, size) where

import qualified Data.List as List
import Data.Maybe (fromMaybe)

-- | A queue as two lists.
data Queue a = Queue
  { front :: [a]
  , back :: [a]
  } deriving (Eq)

newtype Size = Size { unSize :: Int }

type Name = String

class Container f where
  empty :: f a
  insert :: a -> f a -> f a
  insert _ xs = xs

instance Container (Queue a) where
  insert x q = push x q

-- | Adds to the back.
--
-- O(1).
push :: a -> Queue a -> Queue a
push x (Queue f b) = Queue f (x : b)

size :: Queue a -> Size
size (Queue [] []) = Size 0
size (Queue f b) = Size (go f + go b)
  where
    go = length

limit = 10

pop :: Queue a              -- ^ The queue.
    -> Maybe (a, Queue a)   -- ^ Its first value,
                            -- and the rest.
pop (Queue (x : f) b) = Just (x, Queue f b)
pop _ = Nothing

push' :: a -> Queue a -> Queue a
push' x q = x `seq` push x q
