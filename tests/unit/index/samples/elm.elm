module Counter exposing (Msg, update)

import Html exposing (Html)

{-| What can happen.
-}
type Msg
    = Increment
    | Decrement


type alias Model =
    { count : Int }


{-| A step. -}
update : Msg -> Model -> Model
update msg model =
    let
        step n =
            { model | count = model.count + n }
    in
    case msg of
        Increment ->
            step 1

        Decrement ->
            step -1
