module P = Stdlib.Printf

(** A stack. *)
type 'a stack

val push : 'a -> 'a stack -> 'a stack
(** Adds to the top. *)

module Pretty : sig
  val show : 'a stack -> string
end
