# What every target of ours is compiled with.
# -ffp-contract=off: a fused multiply-add would make float results depend on the compiler and the instruction set.
function(upsweep_flags target)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  set(host "$<OR:$<COMPILE_LANGUAGE:C>,$<COMPILE_LANGUAGE:CXX>>")
  target_compile_options(${target} PRIVATE
    $<${host}:-Wall> $<${host}:-Wextra> $<${host}:-Wpedantic> $<${host}:-Wconversion> $<${host}:-Wshadow> $<${host}:-ffp-contract=off>)
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
  add_link_options(-fsanitize=${UPSWEEP_SANITIZE})
endif()

# The CUDA runtime is linked statically, so that the same binary starts on a machine without a driver.
function(upsweep_link_cuda target)
  if(with_cuda)
    target_link_libraries(${target} PRIVATE CUDA::cudart_static m)
  endif()
endfunction()
