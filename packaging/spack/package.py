# This recipe has not been run by Spack: Cortado's machines have none. Copy it to var/spack/repos/NAME/packages/cortado.
from spack.package import *


class Cortado(CMakePackage, CudaPackage):
    """Trains convolutional networks described in Caffe's formats on many-core machines."""

    homepage = "file:///usr/share/doc/cortado"
    # There is no release to fetch: `spack develop --path TREE cortado@main` or `spack dev-build cortado@main` builds a tree.
    version("main")

    license("Apache-2.0")

    variant("images", default=True, description="Read JPEG and PNG images")
    variant("tests", default=False, description="Build the tests")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.21:", type="build")
    depends_on("ninja", type="build")
    depends_on("help2man", type="build")
    depends_on("mpi@3:")
    depends_on("hdf5@1.10: +mpi")
    depends_on("protobuf@3.12:3.21")
    depends_on("kokkos@3.4: +openmp +pic", when="~cuda")
    depends_on("blas")
    depends_on("openblas threads=openmp", when="^[virtuals=blas] openblas")
    depends_on("spdlog")
    depends_on("cli11")
    depends_on("nlohmann-json")
    depends_on("xxhash@0.8:")
    depends_on("hwloc@2:")
    depends_on("lmdb")
    depends_on("zlib-api")
    with when("+images"):
        depends_on("libjpeg-turbo")
        depends_on("libpng")
        depends_on("libexif")
    depends_on("googletest@1.10:", type="build", when="+tests")
    depends_on("py-h5py", type="test", when="+tests")

    conflicts("cuda_arch=none", when="+cuda", msg="name the GPU: cuda_arch=90")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"kokkos@4.6: +openmp +pic +cuda cuda_arch={arch}", when=f"+cuda cuda_arch={arch}")

    generator("ninja")

    def cmake_args(self):
        # Spack's compiler wrapper adds the target's flags.
        args = [
            self.define("CORTADO_ARCH", ""),
            self.define("CORTADO_BACKEND", "kokkos"),
            self.define_from_variant("CORTADO_CUDA", "cuda"),
            self.define_from_variant("CORTADO_IMAGES", "images"),
            self.define_from_variant("CORTADO_TESTS", "tests"),
        ]
        if "+cuda" in self.spec:
            args.append(self.define("CMAKE_CXX_COMPILER", self.spec["kokkos"].kokkos_cxx))
        return args

    def setup_run_environment(self, env):
        env.set("CORTADO_ROOT", self.prefix)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def runs(self):
        Executable(self.prefix.bin.cortado)("device_query")
