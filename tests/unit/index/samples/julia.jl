module Shapes

using LinearAlgebra
import Base: show
export area

const LIMIT = 3

"""
    area(shape)

The area of a shape.
"""
function area(shape::Shape)::Float64
    shape.width * shape.height
end

area(radius::Number) = pi * radius^2
area(width, height) where {T} = width * height

abstract type Shape end

# A box.
struct Box{T} <: Shape
    width::T
    height::T
end

macro twice(body)
    :($body; $body)
end

function Base.show(io::IO, box::Box)
    print(io, "box")
end

end
