
2
a/xPlaceholder*
_output_shapes

:
?
a/MatMulMatMula/x:0^a/x*
_output_shapes

:+
)

f"
a/TanhTanha/MatMul:product:0