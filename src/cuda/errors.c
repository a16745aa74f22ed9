/* errors.c: CUDA's errors as statuses, each with a sentence that has CUDA's own name and text for it.
 *
 * Some errors (an illegal address, a failed launch, an uncorrectable memory error) leave the device unusable for this process: the context
 * remembers the first one and refuses all work from then on, and closing it ignores what the device still says. */
#include "impl.h"

/* After these every further call of this process on the device fails. */
static bool is_sticky(cudaError_t error) {
    switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorLaunchFailure:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContextIsDestroyed:
    case cudaErrorCudartUnloading:
    case cudaErrorUnknown:
        return true;
    default:
        return false;
    }
}

static upsweep_status fail_lost(upsweep_context *ctx, cudaError_t error) {
    return context_fail(ctx, UPSWEEP_ERR_DEVICE_LOST, "the GPU has failed (%s: %s): this context can only be closed",
                        cudaGetErrorName(error), cudaGetErrorString(error));
}

upsweep_status cuda_check(upsweep_context *ctx, cudaError_t error, const char *doing) {
    if (error == cudaSuccess) return UPSWEEP_OK;
    (void)cudaGetLastError(); /* or the caller's next check would find our error */
    if (is_sticky(error)) {
        if (impl_of(ctx) != NULL) impl_of(ctx)->lost = error;
        return fail_lost(ctx, error);
    }
    return context_fail(ctx, error == cudaErrorMemoryAllocation ? UPSWEEP_ERR_DEVICE_MEMORY : UPSWEEP_ERR_CUDA, "CUDA failed %s: %s: %s",
                        doing, cudaGetErrorName(error), cudaGetErrorString(error));
}

upsweep_status cuda_healthy(upsweep_context *ctx) {
    const cudaError_t lost = impl_of(ctx)->lost;
    return lost == cudaSuccess ? UPSWEEP_OK : fail_lost(ctx, lost);
}

/* ---- the current device ------------------------------------------------------------------------------------------------------ */

cudaError_t cuda_enter(int device, struct cuda_scope *before) {
    before->mode = cudaStreamCaptureModeRelaxed;
    (void)cudaThreadExchangeStreamCaptureMode(&before->mode);
    before->device = device;
    const cudaError_t error = cudaGetDevice(&before->device);
    return error != cudaSuccess || before->device == device ? error : cudaSetDevice(device);
}

upsweep_status cuda_enter_for(upsweep_context *ctx, struct cuda_scope *before) {
    return cuda_check(ctx, cuda_enter(impl_of(ctx)->device, before), "to make the device current");
}

void cuda_leave(int device, struct cuda_scope *before) {
    if (before->device != device) (void)cudaSetDevice(before->device);
    (void)cudaThreadExchangeStreamCaptureMode(&before->mode);
}
