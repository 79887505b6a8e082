open Printf
module P = Stdlib.Printf

exception Empty

(** A stack. *)
type 'a stack =
  | Nil
  | Cons of 'a * 'a stack

let limit = 10

(** Adds to the top. *)
let push x s = Cons (x, s)

let rec length s = match s with
  | Nil -> 0
  | Cons (_, rest) -> 1 + count rest

and count = function
  | s -> length s

module Pretty = struct
  let show s =
    let n = length s in
    sprintf "%d" n
end

class counter = object
  val mutable n = 0
  method incr = n <- n + 1
end

let () = print_endline (Pretty.show Nil)
