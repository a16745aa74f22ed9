# What every target of ours is compiled with.
# -ffp-contract=off: a fused multiply-add would make float results depend on the compiler and the instruction set.
function(upsweep_flags target)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  set(host "$<OR:$<COMPILE_LANGUAGE:C>,$<COMPILE_LANGUAGE:CXX>>")
  target_compile_options(${target} PRIVATE
    $<${host}:-Wall> $<${host}:-Wextra> $<${host}:-Wpedantic> $<${host}:-Wconversion> $<${host}:-Wshadow> $<${host}:-ffp-contract=off>)
  # As a part of a project that has no build type it would not be optimised at all.
  target_compile_options(${target} PRIVATE $<$<AND:${host},$<CONFIG:>>:-O3>)
  if(UPSWEEP_WERROR)
    target_compile_options(${target} PRIVATE $<${host}:-Werror>)
  endif()
  if(with_cuda)
    target_compile_definitions(${target} PRIVATE UPSWEEP_HAVE_CUDA)
  endif()
endfunction()

if(UPSWEEP_SANITIZE)
  add_compile_options($<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:-fsanitize=${UPSWEEP_SANITIZE}> $<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:-fno-sanitize-recover=all>
                      $<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:-fno-omit-frame-pointer>)
  # Reports need names and lines, not variables; and checks that are calls find as much as those inlined. With both the file of sorting
  # networks takes a quarter of the time to compile (26 s, not 108; gcc 12).
  add_compile_options($<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:-g1>)
  if(UPSWEEP_SANITIZE MATCHES "address" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    add_compile_options("$<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:SHELL:--param asan-instrumentation-with-call-threshold=100>")
  endif()
  add_link_options(-fsanitize=${UPSWEEP_SANITIZE})
endif()

# The CUDA runtime is linked statically, so that the same binary starts on a machine without a driver.
function(upsweep_link_cuda target)
  if(with_cuda)
    target_link_libraries(${target} PRIVATE CUDA::cudart_static m)
  endif()
endfunction()
