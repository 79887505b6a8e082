; inherits typescript
(object (method_definition name: (_) @name) @definition.method)
