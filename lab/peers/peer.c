#include "lab/peers/peer.h"

static const lab_peer_ops *const peers[] = {&lab_peer_cublas, &lab_peer_cusparselt, &lab_peer_openblas,
                                            &lab_peer_blis,   &lab_peer_onednn,     &lab_peer_memory};

const lab_peer_ops *lab_peer_at(size_t index)
{
    return index < sizeof peers / sizeof peers[0] ? peers[index] : NULL;
}
